//! The certificate of the server, and the settings of TLS that both ends and both transports share.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig};

use crate::Outcome;

/// What the certificate is of.
pub(crate) const NAME: &str = "peer";

/// The cipher that `prp-key` has, and no other: what is compared is not two ciphers.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

/// Makes a certificate, and writes it to `file`.
pub(crate) fn server(file: &Path) -> Outcome<Arc<ServerConfig>> {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    fs::write(file, made.cert.der())?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    Ok(Arc::new(config))
}

/// Trusts the certificate in `file`.
pub(crate) fn client(file: &Path) -> Outcome<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(fs::read(file)?))?;
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
