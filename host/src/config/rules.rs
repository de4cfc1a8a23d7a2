//! Rules across consumers.

use super::consumer::ReadConsumer;
use super::problems::Problems;

/// Checks what no consumer can check alone.
pub(super) fn across(consumers: &[ReadConsumer], problems: &Problems) {
    for (n, this) in consumers.iter().enumerate() {
        for other in consumers.iter().take(n) {
            same_name(this, other, problems);
            same_group(this, other, problems);
        }
        own_dead_letters(this, consumers, problems);
    }
}

fn same_name(this: &ReadConsumer, other: &ReadConsumer, problems: &Problems) {
    if this.config.name == other.config.name && !this.config.name.is_empty() {
        let text = format!(
            "{}name: another consumer has it too; names are unique",
            this.label
        );
        problems.error(&this.name_at, text);
    }
}

/// Two consumers of one group would split a topic's partitions, each seeing half of the events.
fn same_group(this: &ReadConsumer, other: &ReadConsumer, problems: &Problems) {
    let (a, b) = (&this.config, &other.config);
    if a.group != b.group || a.group.is_empty() || a.name == b.name {
        return;
    }
    if let Some(topic) = a.topics.iter().find(|topic| b.topics.contains(topic)) {
        let text = format!(
            "{}group: {:?} reads {topic:?} for consumer {:?} too, and they would split its partitions; give each a group of its own",
            this.label, a.group, b.name
        );
        problems.error(&this.group_at, text);
    }
}

/// A dead letter topic that some consumer reads would feed letters back into the host.
fn own_dead_letters(this: &ReadConsumer, all: &[ReadConsumer], problems: &Problems) {
    let Some(topic) = &this.config.dead_letter_topic else {
        return;
    };
    if let Some(reader) = all.iter().find(|other| other.config.topics.contains(topic)) {
        let text = format!(
            "{}dead_letter.topic: {topic:?} is read by consumer {:?} of this file; letters would be handled as events; name another topic",
            this.label, reader.config.name
        );
        problems.error(&this.dead_letter_at, text);
    }
}
