// The seeds of a corpus: small ones, which are committed, and those of the size of the largest
// messages, which are written anew where they are wanted.
#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace dedloc::fuzz {

/// The folder of one target's seeds.
class Corpus {
  public:
    Corpus(const std::filesystem::path& root, std::string_view target) : folder_(root / target) {
        std::filesystem::create_directories(folder_);
    }
    void add(const std::string& name, std::span<const std::byte> bytes) const {
        std::ofstream file(folder_ / name, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }

  private:
    std::filesystem::path folder_;
};

/// Seeds of the targets that parse requests to the project server and its gateway.
void write_server_seeds(const std::filesystem::path& root);
/// A chunk, a leaf and a plan as large as they can be, and the same behind a link's headers.
void write_large_seeds(const std::filesystem::path& root);

}  // namespace dedloc::fuzz
