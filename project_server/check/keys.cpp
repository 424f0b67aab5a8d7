#include <fmt/format.h>

#include "peer/platform/shell_word.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/publishing/key_change.hpp"
#include "project_server/publishing/keys.hpp"

namespace dedloc::check {

void check_keys(const Subject& subject, Findings& findings) {
    const bool is_changing =
        std::filesystem::exists(subject.config.key_directory / server::kNextKeys);
    if (is_changing) {
        findings.bad("a change of the key that signs app versions is not complete",
                     "dedloc app rekey --project " + platform::shell_word(subject.project));
    }
    for (const std::string name : {"code_sign", "upload"}) {
        if (is_changing && name == "code_sign") continue;
        const auto open = subject.config.key_directory / (name + "_public");
        const auto secret = subject.config.key_directory / (name + "_private");
        const server::VerifyingKey verifier{open};
        if (!std::filesystem::exists(secret)) {
            if (name == "code_sign") {
                findings.good("code_sign_private is kept on another machine");
            }
            continue;  // that upload_private is absent is a finding of check_secrets
        }
        if (verifier.is_half_of(server::SigningKey{secret})) {
            findings.good(fmt::format("{0}_public verifies what {0}_private signs", name));
        } else {
            findings.bad(
                fmt::format("{} is not the other half of {}", open.string(), secret.string()),
                "put back the pair that volunteers' clients know, from a backup");
        }
    }
}

}  // namespace dedloc::check
