// Disk space for uploads in progress: an upload begins only if the disk can take all of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace dedloc::server {

/// What stays free for the database, logs and downloads of the same disk.
inline constexpr std::uint64_t kReservedBytes = std::uint64_t{1} << 30;

/// Space that uploads in progress have been promised and have not filled yet. A wide network
/// (platform::networks_of) is promised at most as many bytes as stay available, so that the uploads
/// of one network leave space to others. Thread: any.
class UploadSpace {
  public:
    /// Bytes that the disk has free now.
    using FreeBytes = std::function<std::uint64_t()>;

    /// The promise to one upload; it ends with the destructor. Thread: one at a time.
    class Promise {
      public:
        /// `bytes` are counted for `network` in `space` already.
        Promise(UploadSpace& space, std::string network, std::uint64_t bytes);
        ~Promise() { fill(bytes_); }
        Promise(const Promise&) = delete;
        Promise& operator=(const Promise&) = delete;
        /// So many of the bytes have been written, or will not be. At most what is left counts.
        void fill(std::uint64_t bytes);

      private:
        UploadSpace& space_;
        const std::string network_;
        std::uint64_t bytes_;
    };

    explicit UploadSpace(FreeBytes free) : free_(std::move(free)) {}

    /// Null if the disk has too little space for this upload and for the others in progress, or the
    /// client's network has been promised too much.
    std::unique_ptr<Promise> promise(const std::string& address, std::uint64_t bytes);

  private:
    const FreeBytes free_;
    std::mutex mutex_;
    std::uint64_t promised_ = 0;                       ///< to all; guarded by mutex_
    std::map<std::string, std::uint64_t> of_network_;  ///< none is 0; guarded by mutex_
};

}  // namespace dedloc::server
