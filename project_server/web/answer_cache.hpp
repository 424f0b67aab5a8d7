// Answers that many viewers ask for, computed once for all of them every few seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace dedloc::server {

/// One page in the forms in which it is served.
struct Answer {
    std::string title;  ///< the page's
    std::string body;   ///< HTML inside the layout
    std::string page;   ///< the whole HTML page as visitors see it who are not signed in
    std::string json;   ///< the same content as JSON
};

/// Keeps answers by key. Thread: any.
class AnswerCache {
  public:
    using Clock = std::chrono::steady_clock;
    using Pointer = std::shared_ptr<const Answer>;
    /// Nothing: there is no such page. It may throw, and then so does get().
    using Compute = std::function<std::optional<Answer>()>;

    /// The answer for `key`, at most `life` old, or older while another thread is computing it.
    /// Only one thread at a time computes for a key. Nothing, which is not kept, if there is no
    /// such page.
    Pointer get(const std::string& key, Clock::duration life, const Compute& compute);

  private:
    struct Entry {
        Pointer answer;             ///< the last one; absent before the first
        Clock::time_point expires;  ///< when `answer` does
        bool is_computing = false;  ///< a thread is at it
    };
    using Lock = std::unique_lock<std::mutex>;

    Pointer renew(Lock& lock, const std::string& key, Clock::duration life, const Compute& compute);
    void bound_size();

    std::mutex mutex_;
    std::condition_variable computed_;
    std::map<std::string, Entry> entries_;
};

}  // namespace dedloc::server
