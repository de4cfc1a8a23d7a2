//! Which record a guest's line is about. Kept beside the lines rather than in a span: a span would cost every
//! record something, this costs those that say something.

use std::sync::Arc;

use crate::engine::Event;

/// The record in a guest's hands; none while the instance starts.
#[derive(Debug, Default)]
pub(super) struct About {
    record: Option<Place>,
    event_id: String,
}

#[derive(Debug)]
struct Place {
    topic: Arc<str>,
    partition: i32,
    offset: i64,
}

impl About {
    /// From now on lines are about this record.
    pub(super) fn set(&mut self, event: Event<'_>) {
        let source = &event.record.source;
        self.record = Some(Place {
            topic: Arc::clone(&source.topic),
            partition: source.partition,
            offset: event.record.offset,
        });
        self.event_id.clear();
        self.event_id.push_str(event.id);
    }

    pub(super) fn topic(&self) -> Option<&str> {
        self.record.as_ref().map(|at| &*at.topic)
    }

    pub(super) fn partition(&self) -> Option<i32> {
        self.record.as_ref().map(|at| at.partition)
    }

    pub(super) fn offset(&self) -> Option<i64> {
        self.record.as_ref().map(|at| at.offset)
    }

    pub(super) fn event_id(&self) -> Option<&str> {
        self.record.as_ref().map(|_| self.event_id.as_str())
    }
}
