#include "project_server/backbone/pending_revocations.hpp"

#include <algorithm>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::backbone {
namespace {

using control::Revocation;

/// Calls f(members of a, members of b) for each kind of entry.
template <class A, class B, class Function>
void for_each_kind(A& a, B& b, const Function& f) {
    f(a.users, b.users);
    f(a.hosts, b.hosts);
    f(a.keys, b.keys);
    f(a.voters, b.voters);
}

std::size_t size_of(const Revocation& named) {
    return named.users.size() + named.hosts.size() + named.keys.size() + named.voters.size();
}

}  // namespace

bool is_empty(const Revocation& named) {
    return named == Revocation{};
}

void add(Revocation& to, const Revocation& more) {
    for_each_kind(to, more, [](auto& list, const auto& added) {
        for (const auto& entry : added) {
            if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
        }
    });
    if (size_of(to) > wire::kMaxRevocations) {
        throw InputError("too many revocations wait for the database");
    }
}

void remove(Revocation& from, const Revocation& named) {
    for_each_kind(from, named, [](auto& list, const auto& gone) {
        std::erase_if(
            list, [&](const auto& entry) { return std::ranges::find(gone, entry) != gone.end(); });
    });
}

Revocation read_pending(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return {};
    return control::read_request(platform::read_text(file, control::kMaxMessageBytes)).revocation;
}

void write_pending(const std::filesystem::path& file, const Revocation& named) {
    if (is_empty(named)) {
        std::filesystem::remove(file);
        return platform::sync_folder_of(file);
    }
    platform::replace_file(file,
                           control::write(control::Request{.command = control::Command::kRevoke,
                                                           .revocation = named}) +
                               "\n",
                           platform::kSecretFile);
}

}  // namespace dedloc::backbone
