// Memory that its owner overwrites now and then, and that others read as it was before. Nothing is
// copied until the owner is about to write, and nothing if the readers are done by then.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "peer/base/stable_bytes.hpp"

namespace dedloc::platform {

/// Shares of one array's content. Thread: the owner's, for all calls; shares are read on any.
class CopyOnWrite {
  public:
    /// Bytes that are copied, and locked against readers, at a time.
    static constexpr std::size_t kPieceBytes = 256 << 10;

    /// `memory` must not move, and must outlive this object.
    explicit CopyOnWrite(std::span<const std::byte> memory) : memory_(memory) {}
    /// Calls before_write(): the shares outlive the memory.
    ~CopyOnWrite() { before_write(); }
    CopyOnWrite(const CopyOnWrite&) = delete;
    CopyOnWrite& operator=(const CopyOnWrite&) = delete;

    /// The content as it is now. All shares between two writes are the same object.
    /// Cost  none; the next write copies what is still shared
    SharedStableBytes share();
    /// The owner is about to write: copies the content for the shares that are still held, piece by
    /// piece. Their readers wait for one piece at most. Shares that are dropped meanwhile end it.
    /// Returns  the number of bytes that were copied: 0 if no share is held
    /// Memory   one copy for as long as any of these shares is held     Errors  std::bad_alloc
    std::size_t before_write();

  private:
    class Share;
    const std::span<const std::byte> memory_;
    std::weak_ptr<Share> share_;  ///< the share of the present content
};

}  // namespace dedloc::platform
