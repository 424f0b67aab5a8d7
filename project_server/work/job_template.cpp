#include "project_server/work/job_template.hpp"

#include <fmt/format.h>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::work {
namespace {

struct Block {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// The last element of this name, including its indentation and line end.
Block last_element(std::string_view text, std::string_view name) {
    const auto open = text.rfind(fmt::format("<{}>", name));
    const std::string close = fmt::format("</{}>", name);
    const auto end = open == std::string_view::npos ? open : text.find(close, open);
    if (end == std::string_view::npos) {
        throw InputError(fmt::format("The input template has no <{}>.", name));
    }
    const auto line = text.rfind('\n', open);
    const auto after = text.find('\n', end);
    return {.begin = line == std::string_view::npos ? 0 : line + 1,
            .end = after == std::string_view::npos ? text.size() : after + 1};
}

}  // namespace

std::string input_template_for(std::string_view one_shard, std::size_t shards) {
    DEDLOC_CHECK(shards >= 1, "a run must have at least one shard");
    std::string text{one_shard};
    // Edit the later element first, so that the position of the earlier one does not change.
    const Block reference = last_element(text, "file_ref");
    const std::string reference_text =
        text.substr(reference.begin, reference.end - reference.begin);
    const auto name = reference_text.find("shard_0");
    if (name == std::string::npos) {
        throw InputError("The last <file_ref> of the input template is not shard_0.");
    }
    std::string more;
    for (std::size_t i = 1; i < shards; ++i) {
        more += std::string{reference_text}.replace(name, 7, fmt::format("shard_{}", i));
    }
    text.insert(reference.end, more);
    const Block info = last_element(text, "file_info");
    const std::string info_text = text.substr(info.begin, info.end - info.begin);
    more.clear();
    for (std::size_t i = 1; i < shards; ++i) more += info_text;
    text.insert(info.end, more);
    return text;
}

}  // namespace dedloc::work
