// The statements of a connection that the server has prepared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>

namespace dedloc::server {

/// Decides which statements of a connection the server prepares. A prepared one is parsed once and
/// then executed by its name, so a statement is prepared when the connection repeats it. The server
/// keeps each one in memory, so there are kMax of them: the one that was not used for longest makes
/// way for the next.
class PreparedStatements {
  public:
    /// Statements of a connection at a time. A scheduler request needs about fifteen.
    static constexpr std::size_t kMax = 32;

    /// How to send a statement that is prepared.
    struct Use {
        std::size_t slot;  ///< less than kMax; the statement's name at the server
        bool is_new;       ///< it is to be prepared in the same message, in the place of an old one
    };

    /// Begins a message. Preparations of the last one that were not confirmed have failed.
    void begin_message();
    /// How to send a statement of the message; nothing: as text. `sql` has a ? for each parameter.
    std::optional<Use> use(const std::string& sql);
    /// The server has prepared the statement of this slot.
    void confirm(std::size_t slot);

  private:
    struct Slot {
        std::string sql{};           ///< empty: none
        std::uint64_t last_use = 0;  ///< number of a message
        bool is_confirmed = false;
    };
    /// A slot that no statement of this message uses; nothing if all are in use.
    std::optional<std::size_t> oldest() const;

    std::array<Slot, kMax> slots_{};
    std::unordered_set<std::size_t> seen_;  ///< hashes of statements that were sent as text
    std::uint64_t message_ = 0;             ///< number of the present one
};

}  // namespace dedloc::server
