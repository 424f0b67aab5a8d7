// Valid requests made odd: the bytes of a fuzz target's input choose which part of a request is
// changed, and into which odd value.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dedloc::fuzz {

/// The input as a list of choices; after its end every choice is 0.
class Recipe {
  public:
    explicit Recipe(std::span<const std::byte> bytes) : rest_(bytes) {}

    bool is_empty() const { return rest_.empty(); }
    /// A number below `count`, which is at least 1 and at most 65,536.
    std::size_t choose(std::size_t count);
    /// The next bytes as they are, at most as many as the byte before them says.
    std::string raw();
    /// One of the odd values, one of `others`, a long text, or raw bytes.
    std::string value(std::span<const std::string> others);

  private:
    std::span<const std::byte> rest_;
};

/// Names and values, as a form or a query has them.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// Changes one thing in a document of BOINC's XML: the value of an element, an element (removed,
/// doubled, a new one), a tag, or the bytes at one place.
void make_odd(std::string& xml, Recipe& recipe, std::span<const std::string> others);
/// The same for a form.
void make_odd(Fields& fields, Recipe& recipe, std::span<const std::string> others);
/// The same for a JSON object: `fields` have JSON as values.
void make_odd_json(Fields& fields, Recipe& recipe, std::span<const std::string> others);

/// The fields as application/x-www-form-urlencoded.
std::string form_text(const Fields& fields);
/// The fields as a JSON object.
std::string json_text(const Fields& fields);
/// A text as a string of JSON; bytes that are not ASCII stay as they are.
std::string json_string(std::string_view text);

}  // namespace dedloc::fuzz
