// parse_coprocessors() finds the row of kCoprocessorKinds for each element; the row names the
// elements inside that are read, and <coproc_opencl> fills in what they lack. Of one type the first
// element counts, but equal <coproc> elements are added up. Serial texts get whole entries only, in
// which the separators are replaced by blanks, so count_gpus() can take them apart again; it limits
// every number, because the text is untrusted.
#include "project_server/xml/coprocessors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxCoprocessorName = 64;  // bytes of a name, type or version
constexpr double kMaxFlops = 1e17;               // FLOP/s of a GPU; more is a mistake
constexpr double kMaxMemory = 1e15;              // bytes; the same
constexpr double kMegabyte = 1024 * 1024;

std::string text_in(std::string_view body, std::string_view name) {
    const auto found = name.empty() ? std::nullopt : find_element(body, name);
    return found ? text_value(found->body, kMaxCoprocessorName) : std::string{};
}

double number_in(std::string_view body, std::string_view name, double max) {
    const auto found = name.empty() ? std::nullopt : find_element(body, name);
    return std::clamp(found ? real_value(found->body) : 0, 0.0, max);
}

/// Clients list only devices that are there, so a number that cannot be read is at least 1.
std::int64_t count_in(std::string_view body) {
    const auto found = find_element(body, "count");
    const double count = (found ? real_number(found->body) : std::nullopt).value_or(1);
    return static_cast<std::int64_t>(std::clamp(count, 0.0, static_cast<double>(kMaxInstances)));
}

/// "OpenCL 1.2 …" is 120, as BOINC counts.
std::int64_t opencl_version_of(std::string_view text) {
    constexpr std::string_view kPrefix = "OpenCL ";
    if (!text.starts_with(kPrefix)) return 0;
    text.remove_prefix(kPrefix.size());
    const double version = real_value(text.substr(0, text.find(' ')));
    return static_cast<std::int64_t>(std::lround(std::clamp(version, 0.0, 99.0) * 100));
}

/// What every element of a coprocessor has, and what its <coproc_opencl> adds.
Coprocessor read(const XmlElement& element, const CoprocessorKind& kind) {
    const std::string_view body = element.body;
    const auto opencl = find_element(body, "coproc_opencl");
    const std::string_view of_opencl = opencl ? opencl->body : std::string_view{};
    Coprocessor read{
        .type = std::string{kind.type},
        .label = std::string{kind.label},
        .name = text_in(body, kind.name),
        .count = count_in(body),
        .memory_bytes = number_in(body, kind.memory, kMaxMemory) * kind.memory_unit,
        .driver = text_in(body, kind.driver),
        .opencl_version = opencl_version_of(text_in(of_opencl, "opencl_device_version")),
        .peak_flops = number_in(body, "peak_flops", kMaxFlops),
        .wanted_seconds = number_in(body, "req_secs", 1e15),
        .idle = number_in(body, "req_instances", static_cast<double>(kMaxInstances))};
    if (read.name.empty()) read.name = text_in(of_opencl, "name");
    if (read.memory_bytes == 0) {
        read.memory_bytes = number_in(of_opencl, "global_mem_size", kMaxMemory);
    }
    if (read.driver.empty()) read.driver = text_in(of_opencl, "opencl_driver_version");
    return read;
}

/// A <coproc>: nothing but its type tells what it is.
Coprocessor read_other(const XmlElement& element) {
    const std::string type = text_in(element.body, "type");
    const auto kind = std::ranges::find(kCoprocessorKinds, type, &CoprocessorKind::type);
    if (kind != kCoprocessorKinds.end()) return read(element, *kind);
    const bool has_opencl = find_element(element.body, "coproc_opencl").has_value();
    return read(element, {.element = kOtherCoprocessor,
                          .type = type,
                          .label = has_opencl ? kOtherOpenCl : std::string_view{type},
                          .name = "type"});
}

/// A text without the characters that separate entries.
std::string in_entry(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == '[' || c == ']' || c == '|'; }, ' ');
    return text;
}

/// Removes the text up to and including `end` and returns it without `end`; the whole text if it
/// has no `end`.
std::string_view take_until(std::string_view& text, char end) {
    const std::size_t at = text.find(end);
    const std::string_view taken = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return taken;
}

bool is_gpu_label(std::string_view label) {
    return label == kOtherOpenCl ||
           std::ranges::find(kCoprocessorKinds, label, &CoprocessorKind::label) !=
               kCoprocessorKinds.end();
}

}  // namespace

bool is_gpu(const Coprocessor& coprocessor) {
    return is_gpu_label(coprocessor.label);
}

std::vector<Coprocessor> parse_coprocessors(std::string_view coprocs) {
    std::vector<Coprocessor> all;
    XmlReader reader{coprocs};
    while (const auto element = reader.next()) {
        const auto kind =
            std::ranges::find(kCoprocessorKinds, element->name, &CoprocessorKind::element);
        const bool is_other = element->name == kOtherCoprocessor;
        if (kind == kCoprocessorKinds.end() && !is_other) continue;
        Coprocessor coprocessor = is_other ? read_other(*element) : read(*element, *kind);
        if (coprocessor.count == 0 || coprocessor.type.empty()) continue;
        const auto same = std::ranges::find(all, coprocessor.type, &Coprocessor::type);
        if (same == all.end()) {
            if (all.size() < kMaxCoprocessors) all.push_back(std::move(coprocessor));
        } else if (is_other) {
            // Clients list equal devices that are not of a kind above one by one.
            same->count = std::min(same->count + coprocessor.count, kMaxInstances);
        }
    }
    return all;
}

std::string serial_text(const std::vector<Coprocessor>& coprocessors, std::size_t limit) {
    std::string text;
    for (const Coprocessor& one : coprocessors) {
        const std::string entry = fmt::format(
            "[{}|{}|{}|{:.0f}MB|{}|{}]", in_entry(one.label), in_entry(one.name), one.count,
            one.memory_bytes / kMegabyte, in_entry(one.driver), one.opencl_version);
        if (text.size() + entry.size() <= limit) text += entry;
    }
    return text;
}

std::int64_t count_gpus(std::string_view serial, std::int64_t limit) {
    std::int64_t gpus = 0;
    while (!serial.empty() && gpus < limit) {
        take_until(serial, '[');
        std::string_view entry = take_until(serial, ']');
        const std::string_view label = take_until(entry, '|');
        take_until(entry, '|');  // skips the name
        if (!is_gpu_label(label)) continue;
        gpus += std::clamp<std::int64_t>(integer_value(take_until(entry, '|')), 0, limit);
    }
    return std::min(gpus, limit);
}

bool is_version_entry(std::string_view entry) {
    return entry.starts_with("[BOINC|") || entry.starts_with("[vbox|");
}

}  // namespace dedloc::server
