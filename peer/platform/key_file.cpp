// A key file is written by replace_file(), so a crash never leaves half a key. Copies of the seed
// as text are not wiped from memory.
#include "peer/platform/key_file.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::platform {
namespace {

/// A key and its newline have 65 bytes; a much larger file is no key file.
constexpr std::size_t kMaxKeyFileBytes = 256;

}  // namespace

void write_key(const std::filesystem::path& path, const KeyPair& key) {
    replace_file(path, to_hex(key.seed()) + "\n", kSecretFile);
}

KeyPair read_key(const std::filesystem::path& path) {
    std::string text = read_text(path, kMaxKeyFileBytes);
    text.erase(text.find_last_not_of(" \t\r\n") + 1);  // a copy may end its lines otherwise
    std::array<std::byte, 32> seed{};
    if (!from_hex(text, seed)) throw InputError(fmt::format("{} holds no key", path.string()));
    return KeyPair::from_seed(seed);
}

KeyPair read_or_create_key(const std::filesystem::path& path) {
    if (std::filesystem::exists(path)) return read_key(path);
    const KeyPair key = KeyPair::generate();
    write_key(path, key);
    return key;
}

}  // namespace dedloc::platform
