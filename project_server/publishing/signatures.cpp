#include "project_server/publishing/signatures.hpp"

#include <fmt/format.h>

#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSignatureFile = 4'096;  // bytes of a signature's file

}  // namespace

Signatures::Signatures(std::string_view open, const fs::path& secret, fs::path folder)
    : folder_(std::move(folder)), open_(open, "the project's key") {
    if (!folder_.empty()) return;
    if (!fs::exists(secret)) {
        throw InputError(fmt::format(
            "{} is not here: sign the files where it is, and name the folder of signatures",
            secret.string()));
    }
    secret_ = std::make_unique<SigningKey>(secret);
    if (!open_.is_half_of(*secret_)) {
        throw InputError(
            fmt::format("{} is not the other half of the key that signs the project's app "
                        "versions; if its change was interrupted, dedloc app rekey completes it",
                        secret.string()));
    }
}

std::string Signatures::of(const std::string& md5, const std::string& name) const {
    if (secret_) return secret_->sign_md5(md5);
    const fs::path path = folder_ / (name + ".sig");
    if (!fs::exists(path)) {
        throw InputError(fmt::format("{} has no signature: there is no {}", name, path.string()));
    }
    std::string signature = platform::read_text(path, kMaxSignatureFile);
    if (!open_.verifies_md5(md5, signature)) {
        throw InputError(
            fmt::format("{} is not a signature of the file {} by the project's code_sign key",
                        path.string(), name));
    }
    return signature;
}

}  // namespace dedloc::server
