// Values on the stack are small: a dictionary keeps only its tensors and a list only its texts, so
// values cannot contain themselves, and tuples are nested at most kMaxDepth deep. The number of
// values and the length of texts are bounded, and so is memory. A large model has 20,000 values.
#include "project_server/huggingface/pickle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/huggingface/pickle_value.hpp"

namespace dedloc::huggingface {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxValues = 500'000;
constexpr std::size_t kMaxGlobalBytes = 254;
constexpr std::size_t kMaxItems = 65'536;

using Kind = Value::Kind;
constexpr std::string_view kDictionary = "collections OrderedDict";
constexpr std::string_view kTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils _rebuild_parameter";

class Machine {
  public:
    Machine(const std::string& document, std::span<const std::byte> bytes)
        : document_(document), size_(bytes.size()), in_(bytes) {}

    Pickled run();

  private:
    [[noreturn]] void refuse(const std::string& what) const { refuse_pickle(document_, what); }
    [[noreturn]] void damaged() const { refuse_damaged_pickle(document_); }

    template <class T>
    T read() {
        const auto value = in_.read<T>();
        if (!value) damaged();
        return *value;
    }
    std::string take(std::uint64_t length) {
        if (length > in_.remaining()) damaged();
        const auto bytes = *in_.take(static_cast<std::size_t>(length));
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    std::string line();

    void step(unsigned char code);
    bool step_constant(unsigned char code);
    bool step_container(unsigned char code);
    bool step_memo(unsigned char code);

    void push(Value value);
    void count(const Value& value);
    void push_number(std::int64_t number);
    void push_long(std::uint64_t length);
    void push_text(std::uint64_t length);
    void push_global(const std::string& name);
    Value pop();
    std::vector<Value> pop_to_mark();
    void push_tuple(std::vector<Value> items);
    void remember(std::uint64_t index);
    void recall(std::uint64_t index);
    Contents& target(Kind kind);
    void set_item(const Value& key, Value value);
    void reduce();

    const std::string& document_;
    const std::size_t size_;
    ByteReader in_;
    std::vector<Value> stack_;
    std::unordered_map<std::uint64_t, Value> memo_;
    std::size_t values_ = 0;  ///< pushed or remembered
    bool is_over_ = false;
};

std::string Machine::line() {
    std::string text;
    for (char c = read<char>(); c != '\n'; c = read<char>()) {
        if (text.size() == kMaxGlobalBytes) damaged();
        text += c;
    }
    return text;
}

void Machine::count(const Value& value) {
    values_ += 1 + value.items.size();
    if (values_ > kMaxValues) refuse("its list of tensors is too large");
}

void Machine::push(Value value) {
    count(value);
    stack_.push_back(std::move(value));
}

Value Machine::pop() {
    if (stack_.empty() || stack_.back().kind == Kind::kMark) damaged();
    Value value = std::move(stack_.back());
    stack_.pop_back();
    return value;
}

std::vector<Value> Machine::pop_to_mark() {
    std::vector<Value> items;
    while (!stack_.empty() && stack_.back().kind != Kind::kMark) {
        items.push_back(std::move(stack_.back()));
        stack_.pop_back();
    }
    if (stack_.empty()) damaged();
    stack_.pop_back();
    std::ranges::reverse(items);
    return items;
}

void Machine::push_number(std::int64_t number) {
    Value value{.kind = Kind::kNumber, .text = {}, .number = number, .items = {}};
    value.text.assign(reinterpret_cast<const char*>(&number), sizeof(number));
    push(std::move(value));
}

/// A number of any length, in two's complement.
void Machine::push_long(std::uint64_t length) {
    const std::string bytes = take(length);
    const bool is_negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U);
    std::uint64_t number = is_negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = std::min<std::size_t>(bytes.size(), 8); i-- > 0;) {
        number = number << 8 | static_cast<unsigned char>(bytes[i]);
    }
    Value value{.kind = Kind::kNumber, .text = bytes, .items = {}};
    value.number = bytes.size() > 8 ? -1 : std::bit_cast<std::int64_t>(number);
    push(std::move(value));
}

void Machine::push_text(std::uint64_t length) {
    if (length > kMaxGlobalBytes) damaged();
    Value value{.kind = Kind::kText, .text = take(length), .items = {}};
    if (!is_utf8(value.text)) damaged();
    push(std::move(value));
}

void Machine::push_global(const std::string& name) {
    const bool is_known = name == kDictionary || name == kTensor || name == kParameter ||
                          !type_of_storage(name).empty();
    if (!is_known) {
        refuse(
            fmt::format("asks for Python's '{}', and no program of a model is run: save it with "
                        "safetensors, as save_pretrained() does",
                        is_utf8(name) ? name : "?"));
    }
    push({.kind = Kind::kGlobal, .text = name, .items = {}});
}

void Machine::push_tuple(std::vector<Value> items) {
    Value tuple{.kind = Kind::kTuple, .text = {}, .items = std::move(items)};
    for (const Value& item : tuple.items) tuple.depth = std::max(tuple.depth, item.depth + 1);
    if (tuple.depth > kMaxDepth) damaged();
    push(std::move(tuple));
}

void Machine::remember(std::uint64_t index) {
    if (stack_.empty() || stack_.back().kind == Kind::kMark) damaged();
    // Nested tuples are only arguments of tensors, which nothing refers to again.
    if (stack_.back().depth > 1) {
        memo_.erase(index);
    } else {
        count(stack_.back());
        memo_[index] = stack_.back();
    }
}

void Machine::recall(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) damaged();
    push(found->second);
}

Contents& Machine::target(Kind kind) {
    if (stack_.empty() || stack_.back().kind != kind) damaged();
    return *stack_.back().contents;
}

void Machine::set_item(const Value& key, Value value) {
    Contents& contents = target(Kind::kDictionary);
    if (contents.tensors.size() + contents.others.size() >= kMaxItems) damaged();
    const std::string name = key.kind == Kind::kText ? key.text : std::string{"?"};
    if (value.kind != Kind::kTensor) {
        contents.others.push_back(name.substr(0, 64));
        return;
    }
    if (name.empty() || name.size() > kMaxGlobalBytes) damaged();
    value.tensor.name = name;
    contents.tensors.push_back(std::move(value.tensor));
}

void Machine::reduce() {
    const Value arguments = pop();
    const Value function = pop();
    if (function.kind != Kind::kGlobal || arguments.kind != Kind::kTuple) damaged();
    if (function.text == kDictionary && arguments.items.empty()) {
        push({.kind = Kind::kDictionary,
              .text = {},
              .items = {},
              .contents = std::make_shared<Contents>()});
    } else if (function.text == kTensor) {
        push(tensor_of(document_, arguments.items));
    } else if (function.text == kParameter && !arguments.items.empty() &&
               arguments.items[0].kind == Kind::kTensor) {
        push(arguments.items[0]);
    } else {
        damaged();
    }
}

/// Instructions that push one value.
bool Machine::step_constant(unsigned char code) {
    switch (code) {
        case 'N':
            push({});
            return true;
        case 0x88:
        case 0x89:
            push_number(code == 0x88 ? 1 : 0);
            return true;
        case 'J':
            push_number(read<std::int32_t>());
            return true;
        case 'K':
            push_number(read<std::uint8_t>());
            return true;
        case 'M':
            push_number(read<std::uint16_t>());
            return true;
        case 'G':
            (void)read<std::uint64_t>();
            push({});
            return true;
        case 0x8a:
            push_long(read<std::uint8_t>());
            return true;
        case 'X':
            push_text(read<std::uint32_t>());
            return true;
        case 0x8c:
            push_text(read<std::uint8_t>());
            return true;
        case 'c': {
            const std::string module = line();
            push_global(module + " " + line());
            return true;
        }
        case 0x93: {
            const Value name = pop();
            const Value module = pop();
            if (name.kind != Kind::kText || module.kind != Kind::kText) damaged();
            push_global(module.text.substr(0, kMaxGlobalBytes) + " " +
                        name.text.substr(0, kMaxGlobalBytes));
            return true;
        }
        default:
            return false;
    }
}

/// Instructions that build tuples, dictionaries and lists.
bool Machine::step_container(unsigned char code) {
    switch (code) {
        case '(':
            push({.kind = Kind::kMark, .text = {}, .items = {}});
            return true;
        case ')':
            push_tuple({});
            return true;
        case 't':
            push_tuple(pop_to_mark());
            return true;
        case 0x85:
        case 0x86:
        case 0x87: {
            std::vector<Value> items;
            for (int i = 0; i < code - 0x84; ++i) items.push_back(pop());
            std::ranges::reverse(items);
            push_tuple(std::move(items));
            return true;
        }
        case '}':
        case ']':
            push({.kind = code == '}' ? Kind::kDictionary : Kind::kList,
                  .text = {},
                  .items = {},
                  .contents = std::make_shared<Contents>()});
            return true;
        case 's': {
            Value value = pop();
            const Value key = pop();
            set_item(key, std::move(value));
            return true;
        }
        case 'u': {
            auto items = pop_to_mark();
            if (items.size() % 2 != 0) damaged();
            for (std::size_t i = 0; i < items.size(); i += 2) {
                set_item(items[i], std::move(items[i + 1]));
            }
            return true;
        }
        case 'a':
        case 'e': {
            std::vector<Value> items;
            if (code == 'a') {
                items.push_back(pop());
            } else {
                items = pop_to_mark();
            }
            Contents& list = target(Kind::kList);
            for (Value& item : items) {
                if (item.kind == Kind::kText) list.texts.push_back(std::move(item.text));
            }
            if (list.texts.size() > kMaxItems) damaged();
            return true;
        }
        default:
            return false;
    }
}

/// Instructions of the memo.
bool Machine::step_memo(unsigned char code) {
    switch (code) {
        case 'q':
            remember(read<std::uint8_t>());
            return true;
        case 'r':
            remember(read<std::uint32_t>());
            return true;
        case 0x94:
            remember(memo_.size());
            return true;
        case 'h':
            recall(read<std::uint8_t>());
            return true;
        case 'j':
            recall(read<std::uint32_t>());
            return true;
        default:
            return false;
    }
}

void Machine::step(unsigned char code) {
    if (step_constant(code) || step_container(code) || step_memo(code)) return;
    switch (code) {
        case 0x80:  // the protocol's version
            (void)read<std::uint8_t>();
            return;
        case 0x95:  // the length of what follows
            (void)read<std::uint64_t>();
            return;
        case 'Q':
            push(storage_of(document_, pop()));
            return;
        case 'R':
            reduce();
            return;
        case 'b':  // attributes of a dictionary: versions of modules
            (void)pop();
            return;
        case '.':
            is_over_ = true;
            return;
        default:
            refuse(
                fmt::format("its list of tensors has an instruction {:#04x}, which is not "
                            "implemented: save the model with safetensors, as save_pretrained() "
                            "does",
                            code));
    }
}

Pickled Machine::run() {
    while (!is_over_) step(read<unsigned char>());
    Value result = pop();
    Pickled pickled;
    pickled.bytes = size_ - in_.remaining();
    if (result.kind == Kind::kNumber) pickled.number = result.text;
    if (result.contents) {
        pickled.tensors = std::move(result.contents->tensors);
        pickled.others = std::move(result.contents->others);
        pickled.texts = std::move(result.contents->texts);
    }
    return pickled;
}

}  // namespace

Pickled parse_pickle(const std::string& document, std::span<const std::byte> bytes) {
    return Machine{document, bytes}.run();
}

}  // namespace dedloc::huggingface
