//! Certificates of the tests' own.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

/// An authority that signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, PEM.
    pub certificate: String,
}

/// A certificate and its private key, PEM.
#[derive(Clone, Debug)]
pub struct Signed {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// One that nobody else knows.
    pub fn new(name: &str) -> Authority {
        let mut params = params(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = key();
        let own = params.self_signed(&key);
        let own = own.unwrap_or_else(|e| panic!("the authority {name} cannot be made: {e}"));
        Authority {
            certificate: own.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Signs for these hosts, names or addresses; `name` is the subject's.
    pub fn sign(&self, name: &str, hosts: &[&str]) -> Signed {
        self.sign_params(&params(name, hosts))
    }

    /// The same, out of date since 2020.
    pub fn sign_expired(&self, name: &str, hosts: &[&str]) -> Signed {
        let mut params = params(name, hosts);
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign_params(&params)
    }

    fn sign_params(&self, params: &CertificateParams) -> Signed {
        let key = key();
        let signed = params.signed_by(&key, &self.issuer);
        let signed = signed.unwrap_or_else(|e| panic!("a certificate cannot be signed: {e}"));
        Signed {
            certificate: signed.pem(),
            key: key.serialize_pem(),
        }
    }
}

fn params(name: &str, hosts: &[&str]) -> CertificateParams {
    let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let params = CertificateParams::new(hosts);
    let mut params = params.unwrap_or_else(|e| panic!("no names for a certificate: {e}"));
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn key() -> KeyPair {
    KeyPair::generate().unwrap_or_else(|e| panic!("no key can be made: {e}"))
}
