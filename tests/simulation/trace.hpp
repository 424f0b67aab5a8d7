// Records what happens in a world: a hash over all events and actions, to compare two runs, and the
// last lines of a log, to read after a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "peer/base/frame.hpp"
#include "peer/base/units.hpp"
#include "peer/events.hpp"

namespace dedloc::simulation {

/// The name of the alternative of wire::Body with this index.
const char* name_of_body(std::size_t index);

/// The trace of one world. Times are the world's.
class Trace {
  public:
    /// A node receives an event.
    void event(TimePoint when, std::uint32_t node, const Event& event);
    /// A node's peer asks for an action.
    void action(TimePoint when, std::uint32_t node, const Action& action);
    /// Adds a line of text: a peer's note or a fault. It is not hashed.
    void note(TimePoint when, std::uint32_t node, std::string line);

    /// Hash of time, node, kind and size of all events and actions so far.
    std::uint64_t hash() const { return hash_; }
    /// Keeps all lines from now on, so that last_lines() returns them.
    void keep_all() { max_lines_ = max_printed_ = ~std::size_t{0}; }
    /// The last lines, oldest first, without heartbeats.
    std::vector<std::string> last_lines() const;
    /// The last 400 notes of peers and faults, oldest first.
    const std::deque<std::string>& notes() const { return notes_; }

  private:
    static constexpr std::size_t kNotes = 400;
    /// Described when last_lines() is called: most lines are never read.
    struct Line {
        TimePoint when;
        std::uint32_t node;
        bool is_sent = false;        ///< an action, else an event
        LinkId link{};               ///< the link of `frame`
        Frame frame{};               ///< what the node sent or received, shared with the vectors
        const char* name = nullptr;  ///< an event or action without frame
        std::uint64_t size = 0;      ///< an event without frame has one
        std::string text{};          ///< a line without frame and name
    };
    static std::string describe(const Line& line);
    void mix(TimePoint when, std::uint32_t node, std::uint64_t kind, std::uint64_t size);
    void keep(Line line);

    std::size_t max_lines_ = 1'000;  ///< lines kept, including heartbeats
    std::size_t max_printed_ = 120;  ///< lines that last_lines() returns
    std::uint64_t hash_ = 0;
    std::deque<Line> lines_;
    std::deque<std::string> notes_;
};

}  // namespace dedloc::simulation
