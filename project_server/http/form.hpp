// What browsers send: the fields of a form and cookies. Strangers write both, so both are bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dedloc::server {

/// A form may have this many bytes, and this many fields.
inline constexpr std::size_t kMaxFormBytes = 32 * 1024;
inline constexpr std::size_t kMaxFormFields = 64;

/// The fields of a form, in the order in which they were sent.
class Form {
  public:
    /// Reads application/x-www-form-urlencoded. Nothing if it is too long, has too many fields, or
    /// a % that two hex digits do not follow. Values are made valid UTF-8 with lines that end with
    /// a line feed.
    static std::optional<Form> parse(std::string_view body);
    /// The first value of a field; "" if it is absent.
    std::string value(std::string_view name) const;
    /// A ticked box: the field is there with the value 1.
    bool is_ticked(std::string_view name) const { return value(name) == "1"; }

  private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

/// A cookie of the header Cookie; "" if it is absent.
std::string cookie_value(std::string_view header, std::string_view name);

}  // namespace dedloc::server
