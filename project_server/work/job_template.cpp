// Templates are edited as text, so the layout and the changes of an administrator stay.
// last_element() finds the whole lines of the last element of a name, and the new ones are inserted
// behind them. The later position is used first, so the earlier one stays valid; a template in
// which <file_info> and <file_ref> are not on separate lines in this order is refused.
#include "project_server/work/job_template.hpp"

#include <fmt/format.h>

#include <optional>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::work {
namespace {

struct Block {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// The last element of this name directly inside `body`, a part of `text`, including its
/// indentation and line end in `text`.
Block last_element(std::string_view text, std::string_view body, std::string_view name) {
    std::optional<server::XmlElement> last;
    server::XmlReader reader{body};
    while (const auto element = reader.next()) {
        if (element->name == name) last = element;
    }
    if (!last) throw InputError(fmt::format("The template has no <{}>.", name));
    if (!reader.lost().empty()) {
        throw InputError(
            fmt::format("The template has only one tag of a <{}>.", reader.lost().front()));
    }
    const auto begin = static_cast<std::size_t>(last->whole.data() - text.data());
    const auto line = text.rfind('\n', begin);
    const auto after = text.find('\n', begin + last->whole.size());
    return {.begin = line == std::string_view::npos ? 0 : line + 1,
            .end = after == std::string_view::npos ? text.size() : after + 1};
}

/// The body of the first element of this name directly inside `body`.
std::string_view body_of(std::string_view body, std::string_view name) {
    const auto element = server::find_element(body, name);
    if (!element) throw InputError(fmt::format("The template has no <{}>.", name));
    return element->body;
}

}  // namespace

std::string input_template_for(std::string_view one_shard, std::size_t shards, std::size_t sources,
                               bool has_module) {
    DEDLOC_CHECK(shards >= 1, "a run must have at least one shard");
    const std::string_view root = body_of(one_shard, "input_template");
    const Block info = last_element(one_shard, root, "file_info");
    const Block reference = last_element(one_shard, body_of(root, "workunit"), "file_ref");
    if (info.end > reference.begin) {
        throw InputError("A <file_info> of the input template is not on lines before <file_ref>.");
    }
    const auto text_of = [&](const Block& block) {
        return std::string{one_shard.substr(block.begin, block.end - block.begin)};
    };
    const std::string reference_text = text_of(reference);
    const auto name = reference_text.find("shard_0");
    if (name == std::string::npos) {
        throw InputError("The last <file_ref> of the input template is not shard_0.");
    }
    std::string infos;
    std::string references;
    const auto add = [&](const std::string& open_name) {
        infos += text_of(info);
        references += std::string{reference_text}.replace(name, 7, open_name);
    };
    for (std::size_t i = 1; i < shards; ++i) add(fmt::format("shard_{}", i));
    for (std::size_t i = 0; i < sources; ++i) add(fmt::format("source_{}", i));
    if (has_module) add("module");
    std::string text{one_shard};
    // The later element first, so that the position of the earlier one does not change.
    text.insert(reference.end, references);
    text.insert(info.end, infos);
    return text;
}

std::string output_template_for(std::string_view receipt_only, std::uint64_t max_bytes) {
    const std::string_view root = body_of(receipt_only, "output_template");
    const Block info = last_element(receipt_only, root, "file_info");
    const Block reference = last_element(receipt_only, body_of(root, "result"), "file_ref");
    if (info.end > reference.begin) {
        throw InputError("A <file_info> of the output template is not on lines before <file_ref>.");
    }
    std::string text{receipt_only};
    text.insert(reference.end,
                "        <file_ref>\n"
                "            <file_name><OUTFILE_1/></file_name>\n"
                "            <open_name>checkpoint</open_name>\n"
                "            <optional/>\n"
                "        </file_ref>\n");
    text.insert(info.end, fmt::format("    <file_info>\n"
                                      "        <name><OUTFILE_1/></name>\n"
                                      "        <generated_locally/>\n"
                                      "        <upload_when_present/>\n"
                                      "        <no_delete/>\n"
                                      "        <max_nbytes>{}</max_nbytes>\n"
                                      "        <url><UPLOAD_URL/></url>\n"
                                      "    </file_info>\n",
                                      max_bytes));
    return text;
}

}  // namespace dedloc::work
