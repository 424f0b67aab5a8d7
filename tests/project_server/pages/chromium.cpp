// Chromium reads commands from its descriptor 3 and writes answers and events to 4, each a JSON
// text that ends with a zero byte (--remote-debugging-pipe). Two named pipes lead there, because a
// child inherits no other descriptors.
#include "tests/project_server/pages/chromium.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <span>
#include <string_view>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"
#include "peer/platform/shell_word.hpp"

namespace dedloc::browser {
namespace {

using namespace std::chrono_literals;
using rapidjson::Document;
using rapidjson::Value;

constexpr auto kPatience = 60s;
constexpr int kPhoneBelow = 600;
constexpr int kHeight = 900;

std::string json_text(const std::string& text) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
    writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    return buffer.GetString();
}

std::string json_of(const Value& value) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
    value.Accept(writer);
    return buffer.GetString();
}

/// The text of a member of an object; "" if there is none.
std::string text_of(const Value& object, const char* name) {
    const auto found = object.FindMember(name);
    return found != object.MemberEnd() && found->value.IsString() ? found->value.GetString() : "";
}

std::vector<unsigned char> from_base64(std::string_view text) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::vector<unsigned char> bytes;
    unsigned bits = 0;
    int count = 0;
    for (const char digit : text) {
        const auto value = kDigits.find(digit);
        if (value == kDigits.npos) break;
        bits = bits << 6U | static_cast<unsigned>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes.push_back(static_cast<unsigned char>(bits >> count & 0xFFU));
    }
    return bytes;
}

}  // namespace

bool is_installed() {
    return platform::run_to_end({"/bin/sh", "-c", "command -v chromium"}).status == 0;
}

Chromium::Chromium() {
    const auto in = folder_.path() / "in";
    const auto out = folder_.path() / "out";
    if (mkfifo(in.c_str(), 0600) != 0 || mkfifo(out.c_str(), 0600) != 0) {
        throw Error{"cannot make the pipes to the browser"};
    }
    // No sandbox: as root Chromium does not start with it, and it opens our own pages only.
    const std::string script = fmt::format(
        "exec chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run "
        "--disable-dev-shm-usage --disable-background-networking --disable-component-update "
        "--disable-extensions --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1' "
        "--remote-debugging-pipe --user-data-dir={0}/profile about:blank 3<{0}/in 4>{0}/out",
        platform::shell_word(folder_.path()));
    process_ = platform::spawn({"/bin/bash", "-c", script}, {.output = folder_.path() / "log"});
    to_browser_ = ::open(in.c_str(), O_WRONLY | O_CLOEXEC);
    from_browser_ = ::open(out.c_str(), O_RDONLY | O_CLOEXEC);
    const Document targets = call("Target.getTargets");
    std::string tab;
    for (const Value& target : targets["targetInfos"].GetArray()) {
        if (text_of(target, "type") == "page") tab = text_of(target, "targetId");
    }
    const Document attached =
        call("Target.attachToTarget", fmt::format(R"({{"targetId":"{}","flatten":true}})", tab));
    session_ = text_of(attached, "sessionId");
    for (const char* const domain : {"Page", "Runtime", "Log", "Network"}) {
        call(std::string{domain} + ".enable");
    }
}

Chromium::~Chromium() {
    // It ends when nothing holds its pipe any more; its children, which it has forked, as well.
    close(to_browser_);
    close(from_browser_);
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!platform::poll_child(process_) && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(10ms);
    }
    ::kill(-process_, SIGKILL);
}

void Chromium::set_width(int width) {
    call("Emulation.setDeviceMetricsOverride",
         fmt::format(R"({{"width":{},"height":{},"deviceScaleFactor":1,"mobile":{}}})", width,
                     kHeight, width < kPhoneBelow));
}

void Chromium::set_scripts(bool are_on) {
    call("Emulation.setScriptExecutionDisabled", fmt::format(R"({{"value":{}}})", !are_on));
}

int Chromium::open(const std::string& url) {
    has_loaded_ = false;
    call("Page.navigate", fmt::format(R"({{"url":{}}})", json_text(url)));
    return wait_until_loaded();
}

int Chromium::submit(const std::string& script) {
    has_loaded_ = false;
    evaluate("{" + script + "}");
    return wait_until_loaded();
}

int Chromium::wait_until_loaded() {
    while (!has_loaded_) on_event(next_message());
    return status_;
}

Document Chromium::evaluate(const std::string& expression) {
    const Document answer =
        call("Runtime.evaluate",
             fmt::format(R"({{"returnByValue":true,"awaitPromise":true,"expression":{}}})",
                         json_text(expression)));
    if (answer.HasMember("exceptionDetails")) {
        throw Error{"the browser: " + json_of(answer["exceptionDetails"])};
    }
    Document value;
    if (answer["result"].HasMember("value")) {
        value.CopyFrom(answer["result"]["value"], value.GetAllocator());
    }
    return value;
}

void Chromium::take_picture(const std::filesystem::path& file) {
    const Document answer =
        call("Page.captureScreenshot", R"({"format":"png","captureBeyondViewport":true})");
    const auto bytes = from_base64(answer["data"].GetString());
    platform::replace_file(file, std::as_bytes(std::span{bytes}));
}

std::vector<std::string> Chromium::take_complaints() {
    // Everything that the page has said so far comes before this answer.
    evaluate("0");
    return std::exchange(complaints_, {});
}

int Chromium::send(const std::string& method, const std::string& parameters) {
    const int id = ++last_id_;
    std::string text =
        fmt::format(R"({{"id":{},"method":"{}","params":{}{}}})", id, method, parameters,
                    session_.empty() ? std::string{} : R"(,"sessionId":)" + json_text(session_));
    text += '\0';
    if (!platform::write_all(to_browser_, std::as_bytes(std::span{text}))) {
        throw Error{"the browser has ended"};
    }
    return id;
}

Document Chromium::call(const std::string& method, const std::string& parameters) {
    const int id = send(method, parameters);
    while (true) {
        Document message = next_message();
        if (!message.HasMember("id")) {
            on_event(message);
            continue;
        }
        if (message["id"].GetInt() != id) continue;
        if (message.HasMember("error")) throw Error{method + ": " + json_of(message["error"])};
        Document result;
        result.CopyFrom(message["result"], result.GetAllocator());
        return result;
    }
}

Document Chromium::next_message() {
    std::array<char, 1U << 16> buffer{};
    std::size_t end = 0;
    while ((end = received_.find('\0')) == received_.npos) {
        pollfd waiting{.fd = from_browser_, .events = POLLIN, .revents = 0};
        const auto patience = std::chrono::milliseconds{kPatience}.count();
        if (poll(&waiting, 1, static_cast<int>(patience)) != 1) {
            throw Error{"the browser does not answer"};
        }
        const ssize_t count = read(from_browser_, buffer.data(), buffer.size());
        if (count <= 0) throw Error{"the browser has ended"};
        received_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    Document message;
    message.Parse(received_.data(), end);
    if (message.HasParseError() || !message.IsObject()) throw Error{"the browser sent no JSON"};
    received_.erase(0, end + 1);
    return message;
}

void Chromium::on_event(const Document& message) {
    if (!message.HasMember("method")) return;
    const std::string method = message["method"].GetString();
    const Value& event = message["params"];
    if (method == "Page.loadEventFired") {
        has_loaded_ = true;
    } else if (method == "Network.responseReceived") {
        const Value& response = event["response"];
        const int status = response["status"].GetInt();
        if (text_of(event, "type") == "Document") {
            status_ = status;
        } else if (status >= 400) {
            complaints_.push_back(fmt::format("{}: {}", status, text_of(response, "url")));
        }
    } else if (method == "Network.loadingFailed") {
        // Canceled: the stream of a page that is left.
        if (!event.HasMember("canceled") || !event["canceled"].GetBool()) {
            complaints_.push_back("request failed: " + json_of(event));
        }
    } else if (method == "Runtime.exceptionThrown") {
        complaints_.push_back("exception: " + json_of(event["exceptionDetails"]));
    } else if (method == "Runtime.consoleAPICalled") {
        if (text_of(event, "type") == "error") complaints_.push_back("console: " + json_of(event));
    } else if (method == "Log.entryAdded") {
        // What the network says is in the events above.
        const Value& entry = event["entry"];
        if (text_of(entry, "level") == "error" && text_of(entry, "source") != "network") {
            complaints_.push_back("log: " + text_of(entry, "text"));
        }
    } else if (method == "Page.javascriptDialogOpening") {
        complaints_.push_back("dialog: " + text_of(event, "message"));
        send("Page.handleJavaScriptDialog", R"({"accept":true})");
    }
}

}  // namespace dedloc::browser
