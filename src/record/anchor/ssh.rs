//! Signatures that `ssh-keygen -Y sign` makes, checked without it.

use ssh_key::{HashAlg, PublicKey, SshSig};

use super::line::Published;

/// The namespace: a signature for anything else is not one for a head.
pub const NAMESPACE: &str = "prereg-head@1";
/// What the first line of an armored signature says.
pub const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
/// What its last line says.
pub const END: &str = "-----END SSH SIGNATURE-----";

/// Checks an armored signature over a published line; returns the fingerprint of its key.
pub fn check(published: &Published, armored: &str) -> Result<String, String> {
    let signature = read(armored)?;
    if signature.namespace() != NAMESPACE {
        return Err(format!(
            "the signature is for the namespace `{}`, and not for `{NAMESPACE}`",
            signature.namespace()
        ));
    }
    let key = PublicKey::from(signature.public_key().clone());
    let message = published.message();
    key.verify(NAMESPACE, message.as_bytes(), &signature)
        .map_err(|error| match error {
            ssh_key::Error::AlgorithmUnsupported { .. } | ssh_key::Error::AlgorithmUnknown => {
                "the signature is of a kind of key that is not read here; sign with an Ed25519 or ECDSA P-256 key".to_owned()
            }
            _ => format!("the signature is not one of `{published}` and a line feed"),
        })?;
    Ok(key.fingerprint(HashAlg::Sha256).to_string())
}

/// Returns the namespace that a signature was made for.
pub fn namespace(armored: &str) -> Result<String, String> {
    read(armored).map(|signature| signature.namespace().to_owned())
}

fn read(armored: &str) -> Result<SshSig, String> {
    SshSig::from_pem(armored).map_err(|error| format!("the signature cannot be read: {error}"))
}
