// BOINC's key pairs: 1024-bit RSA as hex text. One pair signs the files of app versions, so that
// clients run only programs that the project has published. The other signs upload certificates, so
// that the upload handler needs no database.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace dedloc::server {

/// Writes DIRECTORY/NAME_private (mode 0600) and DIRECTORY/NAME_public. BOINC's names are
/// "code_sign" and "upload". Errors: IoError, also if a key exists: keys are never replaced,
/// because clients trust the first one that they see.
void make_key_pair(const std::filesystem::path& directory, const std::string& name);

/// The text of a public key file, as a scheduler reply contains it: without white space around it.
/// Errors: IoError, InputError when the file is empty.
std::string read_public_key_text(const std::filesystem::path& file);

/// Lower-case hex MD5, the checksum of BOINC's protocol.
std::string md5_of_file(const std::filesystem::path& file);
std::string md5_of_text(std::string_view text);

/// A private key of BOINC's. Thread: any.
class SigningKey {
  public:
    /// Errors: IoError when `file` cannot be read, InputError when it holds no key.
    explicit SigningKey(const std::filesystem::path& file);
    ~SigningKey();
    SigningKey(const SigningKey&) = delete;
    SigningKey& operator=(const SigningKey&) = delete;

    /// Signatures as hex lines and a line with a dot, the form inside <file_signature> and
    /// <xml_signature>. Errors: IoError (unreadable file), Error (OpenSSL).
    std::string sign_file(const std::filesystem::path& file) const;
    std::string sign_text(std::string_view text) const;
    /// The signature of the file with this MD5.
    std::string sign_md5(const std::string& md5) const;

  private:
    struct Key;
    std::unique_ptr<Key> key_;
};

/// A public key of BOINC's.
class VerifyingKey {
  public:
    /// Errors: as SigningKey.
    explicit VerifyingKey(const std::filesystem::path& file);
    /// The key with this text; `name` says in an error where it is from. Errors: InputError.
    VerifyingKey(std::string_view text, const std::string& name);
    ~VerifyingKey();
    VerifyingKey(const VerifyingKey&) = delete;
    VerifyingKey& operator=(const VerifyingKey&) = delete;

    /// Whether `signature`, in the form of SigningKey, is one of `text`. Thread: any.
    bool verifies(std::string_view text, std::string_view signature) const;
    /// Whether `signature` is one of the file's bytes. Thread: any. Errors: IoError.
    bool verifies_file(const std::filesystem::path& file, std::string_view signature) const;
    /// Whether `signature` is one of a file with this MD5. Thread: any.
    bool verifies_md5(const std::string& md5, std::string_view signature) const;
    /// Whether `secret` is the other half of this key. Thread: any.
    bool is_half_of(const SigningKey& secret) const;

  private:
    struct Key;
    std::unique_ptr<Key> key_;
};

}  // namespace dedloc::server
