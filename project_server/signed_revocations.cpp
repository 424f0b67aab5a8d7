#include "project_server/signed_revocations.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kRevocations = "revocations";

}  // namespace

void write_signed_revocations(const std::filesystem::path& run_folder,
                              const formats::SignedRevocations& list) {
    platform::replace_file(run_folder / kRevocations, formats::encode(list));
}

formats::SignedRevocations read_signed_revocations(const std::filesystem::path& run_folder) {
    const auto file = run_folder / kRevocations;
    auto list = formats::decode_revocations(platform::read_file(file, wire::kMaxRevocationsBytes));
    if (!list) throw InputError(fmt::format("{} is no list of revocations", file.string()));
    return *std::move(list);
}

}  // namespace dedloc::server
