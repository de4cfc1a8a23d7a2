//! Brokers that will not have this client: certificates, passwords, mechanisms.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::error::RDKafkaErrorCode as Code;

/// How long a refusal counts as news. The client tries again every few seconds (`reconnect.backoff.max.ms`) and is
/// refused again, unless somebody mended it.
const CURRENT: Duration = Duration::from_secs(20);

/// What to look at when a client is not let in; none where the code means something else. It goes on trying: a
/// certificate, a password or a user may be mended at the brokers.
pub(super) fn remedy(code: Code) -> Option<&'static str> {
    match code {
        Code::SSL => Some(
            "check in [kafka.librdkafka] that ssl.ca.location names the authority that signed the brokers' certificates, \
             that security.protocol suits the port, and that the certificates are in date and for the names in \
             bootstrap_servers and the brokers' advertised.listeners",
        ),
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState => Some(
            "check sasl.mechanism, sasl.username and sasl.password (or sasl.password_file) in [kafka.librdkafka], and the \
             user at the brokers",
        ),
        _ => None,
    }
}

/// The last refusal.
#[derive(Debug, Default)]
pub(super) struct Trouble(Mutex<Option<(Instant, String)>>);

impl Trouble {
    /// Notes what was said, with its remedy.
    pub(super) fn note(&self, text: String, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, text));
    }

    /// What keeps the client out now, as far as is known.
    pub(super) fn current(&self, now: Instant) -> Option<String> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, text) = last.as_ref()?;
        (now.saturating_duration_since(*at) < CURRENT).then(|| text.clone())
    }
}

/// Why a broker was lost last. That all brokers are down is told as an error, and this is not, where a connection was
/// only closed: as by a port that wants TLS. A refusal counts for more than that the connection was closed after it.
#[derive(Default)]
pub(super) struct LastFailure(Mutex<Option<Heard>>);

struct Heard {
    refusal: bool,
    text: String,
}

/// What librdkafka's words for a refusal hold, in a certificate, a handshake or a password.
const REFUSALS: [&str; 2] = ["SSL handshake failed", "SASL"];

/// librdkafka's names for a connection on which nothing has been answered yet. What follows from that it does not say
/// itself, or not always.
const EARLY: [&str; 3] = [
    "in state APIVERSION_QUERY",
    "in state SSL_HANDSHAKE",
    "in state AUTH_HANDSHAKE",
];
const HUNG_UP: &str = ": a broker that hangs up so early may want another security.protocol than \
                       [kafka.librdkafka] has (plain text, TLS, or either with a password)";

impl LastFailure {
    /// Keeps what is said of a broker that was lost, without the thread's name before it.
    pub(super) fn keep(&self, facility: &str, message: &str) {
        if facility == "FAIL" {
            let text = message.split_once("]: ").map_or(message, |(_, text)| text);
            let closed = text.contains("Disconnected");
            let early = closed && EARLY.iter().any(|state| text.contains(state));
            let hint = if early { HUNG_UP } else { "" };
            let refusal = REFUSALS.iter().any(|word| text.contains(word));
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !(closed && last.as_ref().is_some_and(|heard| heard.refusal)) {
                let text = format!("{text}{hint}");
                *last = Some(Heard { refusal, text });
            }
        }
    }

    /// What was kept.
    pub(super) fn text(&self) -> Option<String> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(|heard| heard.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_refusal_is_no_news() {
        let (trouble, now) = (Trouble::default(), Instant::now());
        assert_eq!(trouble.current(now), None);
        trouble.note("refused".into(), now);
        assert_eq!(
            trouble.current(now + CURRENT / 2).as_deref(),
            Some("refused")
        );
        assert_eq!(trouble.current(now + CURRENT), None);
    }

    #[test]
    fn a_connection_that_is_closed_after_a_refusal_does_not_hide_it() {
        let last = LastFailure::default();
        last.keep(
            "FAIL",
            "[thrd:a]: a: Disconnected while in state APIVERSION_QUERY",
        );
        assert!(last.text().is_some_and(|text| text.contains(HUNG_UP)));
        last.keep(
            "FAIL",
            "[thrd:a]: a: SASL authentication error: Authentication failed",
        );
        last.keep(
            "FAIL",
            "[thrd:a]: a: Disconnected while in state AUTH_HANDSHAKE",
        );
        let kept = "a: SASL authentication error: Authentication failed";
        assert_eq!(last.text().as_deref(), Some(kept));
        last.keep(
            "FAIL",
            "[thrd:a]: a: SSL handshake failed: certificate verify failed",
        );
        assert!(last.text().is_some_and(|text| text.contains("certificate")));
        last.keep(
            "FAIL",
            "[thrd:a]: a: Connect to b failed: Connection refused",
        );
        assert!(last.text().is_some_and(|text| text.contains("refused")));
    }

    #[test]
    fn only_what_keeps_a_client_out_has_a_remedy_here() {
        assert!(remedy(Code::SSL).is_some_and(|text| text.contains("ssl.ca.location")));
        assert!(remedy(Code::Authentication).is_some_and(|text| text.contains("sasl.password")));
        assert_eq!(remedy(Code::BrokerTransportFailure), None);
    }
}
