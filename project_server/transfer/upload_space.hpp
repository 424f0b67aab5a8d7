// Disk space for uploads: one begins only if the disk can take all of it, and neither a network nor
// an account takes what others need.
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
/// Smaller files of an account are not counted: it has a few for each of its jobs.
inline constexpr std::uint64_t kCountedBytes = 64 << 10;

/// A file that a client wants to upload.
struct UploadWish {
    std::string address{};      ///< the client's
    std::int64_t account = 0;   ///< whose job's file it is; 0: not known
    std::string name{};         ///< the file's
    std::uint64_t total = 0;    ///< bytes of the whole file
    std::uint64_t present = 0;  ///< bytes that have arrived before, at most `total`
};

/// Space of uploads in progress, which have been promised what they have not filled yet, and of
/// uploaded files. A wide network (platform::networks_of) is promised at most as many bytes as stay
/// available, so that the uploads of one network leave space to others. An account may have another
/// file while its others, on the disk and in progress, take no more than stays available: so one
/// account takes at most half of the space, and n accounts about n/(n+1) of it. Files that were
/// uploaded before this process began are not counted. Thread: any.
class UploadSpace {
  public:
    /// Bytes that the disk has free now.
    using FreeBytes = std::function<std::uint64_t()>;
    /// Bytes of a file that are on the disk; 0: it has been deleted or moved away.
    using SizeOf = std::function<std::uint64_t(const std::string& name)>;

    /// The promise to one upload; it ends with the destructor. Thread: one at a time.
    class Promise {
      public:
        /// The upload is counted in `space` already.
        Promise(UploadSpace& space, std::string network, UploadWish wish);
        ~Promise();
        Promise(const Promise&) = delete;
        Promise& operator=(const Promise&) = delete;
        /// So many of the bytes have been written, or will not be. At most what is left counts.
        void fill(std::uint64_t bytes);

      private:
        UploadSpace& space_;
        const std::string network_;
        const UploadWish wish_;
        std::uint64_t bytes_;  ///< not filled yet
    };
    /// The answer to a wish.
    struct Answer {
        std::unique_ptr<Promise> promise{};  ///< null: not now
        const char* refusal = "";            ///< why, for the client and the log
    };

    UploadSpace(FreeBytes free, SizeOf size_of)
        : free_(std::move(free)), size_of_(std::move(size_of)) {}

    /// No promise if the disk has too little space for this upload and for the others in progress,
    /// or the client's network or the account has too much of it.
    Answer promise(UploadWish wish);

  private:
    struct File {
        std::uint64_t bytes;  ///< on the disk; of one that arrives all that it will have
        bool arrives;
    };
    using Files = std::map<std::string, File>;

    std::uint64_t others_of(const UploadWish& wish) const;
    bool may_have(const UploadWish& wish, std::uint64_t available);
    void count_again(Files& files) const;
    void forget_deleted();
    void begin(const UploadWish& wish);
    void end(const UploadWish& wish);

    const FreeBytes free_;
    const SizeOf size_of_;
    std::mutex mutex_;                                 ///< guards what follows
    std::uint64_t promised_ = 0;                       ///< to all
    std::map<std::string, std::uint64_t> of_network_;  ///< promised; none is 0
    std::map<std::int64_t, Files> of_account_;         ///< their files by name; none is empty
    std::size_t files_ = 0;                            ///< in of_account_
    std::size_t next_look_ = 1'024;                    ///< at so many all are looked for again
};

}  // namespace dedloc::server
