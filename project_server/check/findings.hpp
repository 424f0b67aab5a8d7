// The result of a check of a project: sentences for its administrator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dedloc::check {

/// How bad a finding is.
enum class Level : std::uint8_t {
    kGood,     ///< as it should be
    kUnknown,  ///< could not be checked now
    kWarning,  ///< works now, and needs the administrator's attention
    kBad,      ///< broken, or contradicts something else
};
/// "good", "unknown", "warning" or "bad".
const char* name_of(Level level);

/// One line of the result.
struct Finding {
    std::string check;     ///< name of the check
    Level level{};         ///< how bad it is
    std::string sentence;  ///< what was found
    std::string advice;    ///< what to do; empty: nothing
    bool operator==(const Finding&) const = default;
};

/// Collects findings, check by check.
class Findings {
  public:
    /// Findings of one check that are kept; of more only the number is.
    static constexpr std::size_t kMaxPerCheck = 20;

    /// Begins the check that the next findings belong to.
    void begin(std::string check);
    // Each adds one finding.
    void good(std::string sentence);
    void unknown(std::string sentence, std::string advice = {});
    void warning(std::string sentence, std::string advice);
    void bad(std::string sentence, std::string advice);

    /// Whether the present check has found nothing bad, no warning, and nothing unknown.
    bool is_clean() const;
    /// How many findings have this level, also those that are not kept.
    std::size_t count(Level level) const;
    /// All findings in order; for each check with too many, a last one says how many more.
    std::vector<Finding> all() const;

  private:
    void add(Level level, std::string sentence, std::string advice);

    std::string check_;
    std::size_t kept_ = 0;  ///< how many of the present check's are in findings_
    bool is_clean_ = true;  ///< whether all of the present check's are good
    std::vector<Finding> findings_;
    std::map<Level, std::size_t> counts_;
    std::map<std::string, std::size_t> dropped_;  ///< how many are not kept, by check
};

}  // namespace dedloc::check
