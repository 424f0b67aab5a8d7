// Elements reads <config> once and then yields one element at a time; each number must fill its
// text and lie in its range, so an error names the element and the file. Absent optional elements
// get the same defaults as in dedloc.json. Rules about more than one value come at the end: listen
// address and proxy of the gateway are needed together, and the URL gets its final slash.
#include "project_server/official_settings.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/descriptors.hpp"
#include "peer/platform/files.hpp"
#include "project_server/url.hpp"
#include "project_server/xml/xml_text.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxConfigBytes = 1 << 20;

class Elements {
  public:
    explicit Elements(const std::filesystem::path& file) : file_(file.string()) {
        const XmlText text{platform::read_text(file, kMaxConfigBytes), file_, "boinc"};
        auto config = text.find({"boinc", "config"});
        if (!config) throw InputError(fmt::format("{} has no <boinc> with a <config>", file_));
        config_ = std::move(*config);
    }

    std::string optional(const char* name) const { return config_.field(name); }
    std::string required(const char* name) const {
        const std::string text = optional(name);
        if (text.empty()) {
            throw InputError(fmt::format("{} has no <{}>: run dedloc install", file_, name));
        }
        return text;
    }
    std::uint16_t port(const char* name, std::uint16_t min) const {
        const std::string text = required(name);
        const auto value = parse_number<std::uint16_t>(text);
        if (!value || *value < min) {
            throw InputError(fmt::format("<{0}>{1}</{0}> in {2} is no port", name, text, file_));
        }
        return *value;
    }
    /// A number from `min` to `max`; nothing: there is no such element.
    template <class Number>
    std::optional<Number> within(const char* name, Number min, Number max) const {
        const std::string text = optional(name);
        if (text.empty()) return std::nullopt;
        const auto value = parse_number<Number>(text);
        // Written so that NaN is refused.
        if (!value || !(*value >= min && *value <= max)) {
            throw InputError(fmt::format("<{0}>{1}</{0}> in {2} must be a number from {3} to {4}",
                                         name, text, file_, min, max));
        }
        return value;
    }

  private:
    const std::string file_;
    XmlChild config_;
};

}  // namespace

Settings read_official_settings(const std::filesystem::path& config) {
    const Elements elements{config};
    const auto seats = [&](const char* name, std::uint64_t usual) {
        return elements.within(name, std::uint64_t{0}, kMaxSeats).value_or(usual);
    };
    const auto rate = [&](const char* name) {
        return elements.within(name, kMinDeviceRate, kMaxDeviceRate);
    };
    Settings settings{
        .name = elements.required("long_name"),
        .url = elements.required("master_url"),
        .peer_listen = elements.required(kPeerListenElement),
        .peer_address = elements.optional(kPeerAddressElement),
        .peer_port = elements.port(kPeerPortElement, 0),
        .max_links = elements.within(kMaxLinksElement, std::size_t{1}, platform::kMaxLinks)
                         .value_or(kDefaultLinks),
        .seats_per_account = seats(kSeatsPerAccountElement, kDefaultSeatsOfAccount),
        .seats_per_network = seats(kSeatsPerNetworkElement, kDefaultSeatsOfNetwork),
        .flops_per_gpu = rate(kFlopsPerGpuElement),
        .flops_per_core = rate(kFlopsPerCoreElement),
        .gateway_port = elements.port(kGatewayPortElement, 1)};
    const std::string listen = elements.optional(kGatewayListenElement);
    const std::string proxy = elements.optional(kGatewayProxyElement);
    if (listen.empty() != proxy.empty()) {
        throw InputError(fmt::format("{} has only one of <{}> and <{}>", config.string(),
                                     kGatewayListenElement, kGatewayProxyElement));
    }
    if (!listen.empty()) {
        settings.gateway_listen = listen;
        settings.gateway_proxy = proxy;
    }
    if (!settings.url.ends_with('/')) settings.url += '/';
    const Url url = required_url(settings.url, fmt::format("<master_url> in {}", config.string()));
    if (!has_web_scheme(settings.url)) {
        throw InputError(fmt::format("<master_url> in {}: {}:// is neither http:// nor https://",
                                     config.string(), url.scheme));
    }
    return settings;
}

}  // namespace dedloc::server
