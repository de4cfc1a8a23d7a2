//! Kafka: everything that talks to the broker.
