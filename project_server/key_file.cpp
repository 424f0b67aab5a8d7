#include "project_server/key_file.hpp"

#include <fmt/format.h>

#include <array>

#include "peer/base/error.hpp"
#include "project_server/settings.hpp"

namespace dedloc::server {

void write_key(const std::filesystem::path& file, const KeyPair& key) {
    write_text(file, to_hex(key.seed()) + "\n", 0600);
}

KeyPair read_key(const std::filesystem::path& file) {
    std::string text = read_text(file);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::array<std::byte, 32> seed{};
    if (!from_hex(text, seed)) throw InputError(fmt::format("{} holds no key", file.string()));
    return KeyPair::from_seed(seed);
}

}  // namespace dedloc::server
