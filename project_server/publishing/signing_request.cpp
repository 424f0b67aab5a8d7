// Every check comes before the first byte is written: the private key against the request's key,
// the two halves of the new pair against each other, the new key against the present one, and each
// file's signature by the present key. The signatures of the files are written first and the new
// public key last, so a folder with that key is a complete answer.
#include "project_server/publishing/signing_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRequestValue = 4'096;  // bytes of a name, key or signature
constexpr std::size_t kMd5Digits = 32;

std::string value_of(std::string_view element, std::string_view name) {
    const auto found = find_element(element, name);
    return found ? clean_text(found->body, kMaxRequestValue) : std::string{};
}

/// Whether it can be the name of a file in a folder.
bool is_plain(const std::string& name) {
    return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

bool is_md5(const std::string& text) {
    return text.size() == kMd5Digits &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string text_of(const SigningRequest& request) {
    std::string text = fmt::format("<code_sign_key>\n{}\n</code_sign_key>\n", request.present_key);
    for (const SignedFile& file : request.files) {
        text += fmt::format(
            "<file_info>\n<name>{}</name>\n<md5_cksum>{}</md5_cksum>\n<file_signature>\n{}\n"
            "</file_signature>\n</file_info>\n",
            file.name, file.md5, file.signature);
    }
    return "<signing_request>\n" + text + "</signing_request>\n";
}

SigningRequest parse_signing_request(std::string_view text) {
    const auto whole = find_element(text, "signing_request");
    if (!whole) throw InputError("the file is no signing request of dedloc app rekey");
    SigningRequest request{.present_key = value_of(whole->body, "code_sign_key")};
    if (request.present_key.empty()) throw InputError("the signing request names no present key");
    std::set<std::string> names;
    XmlReader reader{whole->body};
    while (const auto element = reader.next()) {
        if (element->name != "file_info") continue;
        SignedFile file{.name = value_of(element->body, "name"),
                        .md5 = value_of(element->body, "md5_cksum"),
                        .signature = value_of(element->body, "file_signature")};
        if (!is_plain(file.name) || !is_md5(file.md5) || !names.insert(file.name).second) {
            throw InputError(fmt::format(
                "the signing request has no valid name and checksum for file {}", names.size()));
        }
        request.files.push_back(std::move(file));
    }
    if (!reader.lost().empty()) {
        throw InputError(fmt::format("the signing request is damaged at one of its <{}>",
                                     reader.lost().front()));
    }
    return request;
}

void answer_signing_request(const SigningRequest& request, const fs::path& private_key,
                            const fs::path& new_keys, const fs::path& out) {
    const VerifyingKey present{request.present_key, "the signing request"};
    const SigningKey former{private_key};
    if (!present.is_half_of(former)) {
        throw InputError(fmt::format("{} is not the private half of the request's present key",
                                     private_key.string()));
    }
    const std::string key = read_public_key_text(new_keys / kNewKeyName);
    const SigningKey secret{new_keys / "code_sign_private"};
    if (!VerifyingKey{key, new_keys.string()}.is_half_of(secret)) {
        throw InputError(fmt::format("{} has keys of two pairs", new_keys.string()));
    }
    if (key == request.present_key) {
        throw InputError(fmt::format("{} has the present key: make a new pair with dedloc app key",
                                     new_keys.string()));
    }
    for (const SignedFile& file : request.files) {
        if (present.verifies_md5(file.md5, file.signature + '\n')) continue;
        throw InputError(fmt::format(
            "the present key has not signed the file {} of the request; nothing was signed",
            file.name));
    }
    fs::create_directories(out);
    for (const SignedFile& file : request.files) {
        platform::replace_file(out / (file.name + ".sig"), secret.sign_md5(file.md5));
    }
    platform::replace_file(out / kNewKeySignatureName, former.sign_text(key));
    platform::replace_file(out / kNewKeyName, key + '\n');
}

}  // namespace dedloc::server
