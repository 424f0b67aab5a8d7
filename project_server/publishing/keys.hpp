// BOINC's key pairs: 1024-bit RSA as hex text. One pair signs app-version files, so that clients
// run nothing that the project did not publish; the other signs upload certificates, so that the
// upload handler needs no database.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace dedloc::server {

/// Writes DIRECTORY/NAME_private (mode 0600) and DIRECTORY/NAME_public. BOINC's names are
/// "code_sign" and "upload". Errors: IoError; existing keys are never replaced, since clients trust
/// the first one they see.
void make_key_pair(const std::filesystem::path& directory, const std::string& name);

/// The text of a public key file, as a scheduler reply carries it.
std::string read_public_key_text(const std::filesystem::path& file);

/// Lower-case hex MD5, the checksum of BOINC's protocol.
std::string md5_of_file(const std::filesystem::path& file);
std::string md5_of_text(std::string_view text);

class SigningKey {
  public:
    /// Errors: IoError when `file` cannot be read, InputError when it holds no key.
    explicit SigningKey(const std::filesystem::path& file);
    ~SigningKey();
    SigningKey(const SigningKey&) = delete;
    SigningKey& operator=(const SigningKey&) = delete;

    /// Hex lines, then a line with a dot, as they stand inside <file_signature> and
    /// <xml_signature>.
    std::string sign_file(const std::filesystem::path& file) const;
    std::string sign_text(std::string_view text) const;

  private:
    struct Key;
    std::unique_ptr<Key> key_;
};

class VerifyingKey {
  public:
    /// Errors: as SigningKey.
    explicit VerifyingKey(const std::filesystem::path& file);
    ~VerifyingKey();
    VerifyingKey(const VerifyingKey&) = delete;
    VerifyingKey& operator=(const VerifyingKey&) = delete;

    /// Thread: any.
    bool verifies(std::string_view text, std::string_view signature) const;

  private:
    struct Key;
    std::unique_ptr<Key> key_;
};

}  // namespace dedloc::server
