// What a machine with the project's private key is asked to sign when the key is changed, and its
// answer: a folder. The request is text with BOINC's elements. It carries the checksums of the
// files, not the files, so each comes with its signature by the present key: the machine signs
// nothing that this key has not signed, whatever has happened to the project's server.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::server {

/// A file of an app version.
struct SignedFile {
    std::string name{};       ///< its permanent name
    std::string md5{};        ///< checksum of its bytes
    std::string signature{};  ///< made by the present key
};

/// A request to sign.
struct SigningRequest {
    std::string present_key{};        ///< the public key that is to be replaced
    std::vector<SignedFile> files{};  ///< each name once
};

inline constexpr std::size_t kMaxSigningRequest = std::size_t{16} << 20;  ///< bytes of its text

/// The request as text, and back. Errors: InputError (not such a text).
std::string text_of(const SigningRequest& request);
SigningRequest parse_signing_request(std::string_view text);

/// Files of an answer: the new public key, and its signature by the present key.
inline constexpr const char* kNewKeyName = "code_sign_public";
inline constexpr const char* kNewKeySignatureName = "code_sign_public.sig";

/// Answers a request: writes the folder `out` with the public key of `new_keys` (a folder with
/// code_sign_public and code_sign_private), its signature by `private_key`, the request's key, and
/// NAME.sig for each file by the new key.
///
/// Errors  InputError (`private_key` is not the request's, the new keys are no pair or the same, a
///         file that the present key has not signed), IoError
void answer_signing_request(const SigningRequest& request, const std::filesystem::path& private_key,
                            const std::filesystem::path& new_keys,
                            const std::filesystem::path& out);

}  // namespace dedloc::server
