// SHA-256, for digests that other programs compare. Our own are BLAKE2b (digest.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace dedloc {

/// The digest of bytes that come in pieces.
class Sha256 final {
  public:
    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    /// Appends a piece.
    void update(std::span<const std::byte> bytes);
    /// The digest of all pieces in lower-case hex digits. Ends the object.
    std::string hex();

  private:
    struct State;
    const std::unique_ptr<State> state_;
};

}  // namespace dedloc
