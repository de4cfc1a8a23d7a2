//! A narrow door for the fuzz targets: values and messages, without a server.

use std::io;

use postgres_types::Type;
use tidegate_core::failure::Failure;
use tidegate_core::sql::Value;

use super::refused::Refused;
use super::value::{from_sql, to_sql};
use super::wire::{Asked, Inbound};

/// A parameter as it is sent.
#[derive(Debug)]
pub struct Encoded {
    /// The content; none is NULL.
    pub bytes: Option<Vec<u8>>,
    /// Whether it is the type's text form.
    pub text: bool,
}

/// A guest's value as a parameter of type `ty`.
///
/// # Errors
/// What does not fit, in words.
pub fn encode(ty: &Type, value: &Value) -> Result<Encoded, String> {
    let types = std::slice::from_ref(ty);
    let encoded = to_sql::encode_all(types, std::slice::from_ref(value))?;
    let param = encoded.first().ok_or("no parameter")?;
    Ok(Encoded {
        bytes: param.bytes().map(<[u8]>::to_vec),
        text: param.format() == 0,
    })
}

/// The value of a column of type `ty`; none where the bytes are not of the type's binary form.
pub fn decode(ty: &Type, raw: &[u8]) -> Option<Value> {
    from_sql::decode(ty, raw).ok()
}

/// The body of the server's error message.
pub fn refused(fields: &[u8]) -> Failure {
    Refused::parse(fields).into()
}

/// What the server's `bytes`, arriving `piece` bytes at a time, are to those who asked: the driver for 0, or so many
/// staged statements. Answers what the driver reads, and the statements' answers.
///
/// # Errors
/// It is not the protocol.
pub fn received(asked: &[usize], bytes: &[u8], piece: usize) -> io::Result<(Vec<u8>, String)> {
    let mut inbound = Inbound::default();
    for asked in asked {
        inbound.asked(match asked {
            0 => Asked::Driver,
            staged => Asked::Staged(*staged),
        });
    }
    for piece in bytes.chunks(piece) {
        inbound.feed(piece)?;
    }
    Ok((inbound.driver.to_vec(), format!("{:?}", inbound.answers)))
}
