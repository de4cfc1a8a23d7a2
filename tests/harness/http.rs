//! A host asked over HTTP, and what its metrics say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const DEADLINE: Duration = Duration::from_secs(20);

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Status line and headers.
    pub head: String,
    /// The body.
    pub body: String,
}

/// Asks for `path` by `method`, on a connection of its own; an error when nobody answers.
pub async fn try_ask(address: &str, method: &str, path: &str) -> std::io::Result<Answer> {
    let ask = async {
        let mut stream = TcpStream::connect(address).await?;
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
    let answer = tokio::time::timeout(DEADLINE, ask).await;
    let answer: String = answer.unwrap_or(Err(late))?;
    let bad = || std::io::Error::other(format!("no HTTP: {answer:?}"));
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(bad)?;
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    Ok(Answer {
        status: status.ok_or_else(bad)?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// The same; panics when nobody answers.
pub async fn ask(address: &str, method: &str, path: &str) -> Answer {
    let answer = try_ask(address, method, path).await;
    answer.unwrap_or_else(|e| panic!("{method} http://{address}{path}: {e}"))
}

/// What was scraped: series with their values.
#[derive(Clone, Debug, Default)]
pub struct Scrape {
    /// Prometheus's text.
    pub text: String,
    series: Vec<Series>,
}

#[derive(Clone, Debug)]
struct Series {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

impl Scrape {
    /// Reads the text format; panics at a line that is none of it.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Self {
            text: text.to_owned(),
            series: lines.map(series).collect(),
        }
    }

    /// Names of all metrics, as their `# TYPE` lines say.
    pub fn names(&self) -> BTreeSet<String> {
        let types = self.text.lines().filter_map(|l| l.strip_prefix("# TYPE "));
        let names = types.filter_map(|line| line.split(' ').next());
        names.map(str::to_owned).collect()
    }

    /// The sum of the series of that name that carry these labels, among others; none where there is none.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let found: Vec<f64> = self.find(name, labels).map(|s| s.value).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// The same as a whole number; 0 where there is none.
    #[expect(clippy::cast_possible_truncation, reason = "what tests count is small")]
    pub fn count(&self, name: &str, labels: &[(&str, &str)]) -> i64 {
        self.get(name, labels).unwrap_or_default() as i64
    }

    /// The values of one label in the series of that name, in order.
    pub fn label(&self, name: &str, label: &str) -> Vec<String> {
        let found = self.find(name, &[]);
        let values = found.filter_map(|series| series.labels.get(label).cloned());
        values.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn find<'s>(
        &'s self,
        name: &'s str,
        labels: &'s [(&'s str, &'s str)],
    ) -> impl Iterator<Item = &'s Series> {
        let carries = |series: &Series| {
            let has = |(label, value): &(&str, &str)| {
                series
                    .labels
                    .get(*label)
                    .is_some_and(|found| found == value)
            };
            labels.iter().all(has)
        };
        let named = self.series.iter().filter(move |s| s.name == name);
        named.filter(move |s| carries(s))
    }
}

fn series(line: &str) -> Series {
    read(line).unwrap_or_else(|| panic!("no line of the text format: {line:?}"))
}

fn read(line: &str) -> Option<Series> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
        None => (series, ""),
    };
    // No test has a label's value with a comma and a quote.
    let labels = labels.split_terminator("\",").map(|label| {
        let (name, value) = label.split_once("=\"")?;
        Some((name.to_owned(), value.trim_end_matches('"').to_owned()))
    });
    Some(Series {
        name: name.to_owned(),
        labels: labels.collect::<Option<_>>()?,
        value: value.parse().ok()?,
    })
}
