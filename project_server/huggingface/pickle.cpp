// Values on the stack are small: a dictionary keeps only its tensors and a list only its texts, so
// values cannot contain themselves, and tuples are nested at most kMaxDepth deep. The number of
// values and the length of texts are bounded, and so is memory. A large model has 20,000 values.
#include "project_server/huggingface/pickle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/huggingface/tensor_file.hpp"

namespace dedloc::huggingface {
namespace {

constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxValues = 500'000;
constexpr std::size_t kMaxNameBytes = 254;
constexpr std::size_t kMaxExtents = 8;
constexpr std::size_t kMaxItems = 65'536;
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 42;

/// What is kept of a dictionary or list.
struct Contents {
    std::vector<PickledTensor> tensors;
    std::vector<std::string> others;
    std::vector<std::string> texts;
};

/// A value on the stack.
struct Value {
    enum class Kind : std::uint8_t {
        kNone,
        kNumber,
        kText,
        kTuple,
        kDictionary,
        kList,
        kGlobal,
        kStorage,
        kTensor,
        kMark
    };
    Kind kind = Kind::kNone;
    std::string text;          ///< a text; a global's name; a number's bytes
    std::int64_t number = 0;   ///< of a number of at most 64 bits
    int depth = 0;             ///< of nested tuples
    std::vector<Value> items;  ///< of a tuple
    std::shared_ptr<Contents> contents{};  ///< of a dictionary or list: shared, as in Python
    PickledTensor tensor{};                ///< a tensor; a storage, without offset and shape
};
using Kind = Value::Kind;

/// The types of storages, with their names in safetensors.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kStorages{
    {{"torch FloatStorage", "F32"},
     {"torch HalfStorage", "F16"},
     {"torch BFloat16Storage", "BF16"},
     {"torch DoubleStorage", "F64"},
     {"torch LongStorage", "I64"},
     {"torch IntStorage", "I32"},
     {"torch ShortStorage", "I16"},
     {"torch ByteStorage", "U8"},
     {"torch BoolStorage", "BOOL"}}};
constexpr std::string_view kDictionary = "collections OrderedDict";
constexpr std::string_view kTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils _rebuild_parameter";

class Machine {
  public:
    Machine(const std::string& document, std::span<const std::byte> bytes)
        : document_(document), size_(bytes.size()), in_(bytes) {}

    Pickled run();

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(fmt::format("{}: {}", document_, what));
    }
    [[noreturn]] void damaged() const { refuse("its list of tensors is damaged"); }

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
    Value storage_of(const Value& id) const;
    Value tensor_of(const std::vector<Value>& arguments) const;
    std::vector<std::uint64_t> numbers_in(const Value& tuple) const;

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
        if (text.size() == kMaxNameBytes) damaged();
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
    if (length > kMaxNameBytes) damaged();
    Value value{.kind = Kind::kText, .text = take(length), .items = {}};
    if (!is_utf8(value.text)) damaged();
    push(std::move(value));
}

void Machine::push_global(const std::string& name) {
    const bool is_known =
        name == kDictionary || name == kTensor || name == kParameter ||
        std::ranges::find(kStorages, name, [](const auto& row) { return row.first; }) !=
            kStorages.end();
    if (!is_known) {
        refuse(fmt::format("asks for Python's '{}', and no program of a model is run: save it with "
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
    if (name.empty() || name.size() > kMaxNameBytes) damaged();
    value.tensor.name = name;
    contents.tensors.push_back(std::move(value.tensor));
}

std::vector<std::uint64_t> Machine::numbers_in(const Value& tuple) const {
    if (tuple.kind != Kind::kTuple || tuple.items.size() > kMaxExtents) damaged();
    std::vector<std::uint64_t> numbers;
    for (const Value& item : tuple.items) {
        if (item.kind != Kind::kNumber || item.number < 0) damaged();
        numbers.push_back(static_cast<std::uint64_t>(item.number));
    }
    return numbers;
}

/// ("storage", type, key, location, number of elements, …).
Value Machine::storage_of(const Value& id) const {
    const auto& items = id.items;
    if (id.kind != Kind::kTuple || items.size() < 5 || items[0].text != "storage" ||
        items[1].kind != Kind::kGlobal || items[2].kind != Kind::kText ||
        items[4].kind != Kind::kNumber || items[4].number < 0) {
        damaged();
    }
    const auto* const type = std::ranges::find(kStorages, items[1].text,
                                               [](const auto& row) { return row.first; });
    if (type == kStorages.end() || items[2].text.size() > kMaxNameBytes) damaged();
    if (items.size() > 5 && items[5].kind != Kind::kNone) {
        refuse("has views of parts of storages, which are not implemented");
    }
    Value storage{.kind = Kind::kStorage, .text = {}, .items = {}};
    storage.tensor.type = type->second;
    storage.tensor.storage = items[2].text;
    storage.tensor.storage_count = static_cast<std::uint64_t>(items[4].number);
    if (storage.tensor.storage_count > kMaxCount) damaged();
    return storage;
}

/// (storage, first element, shape, strides, …).
Value Machine::tensor_of(const std::vector<Value>& arguments) const {
    if (arguments.size() < 4 || arguments[0].kind != Kind::kStorage ||
        arguments[1].kind != Kind::kNumber || arguments[1].number < 0) {
        damaged();
    }
    Value value{.kind = Kind::kTensor, .text = {}, .items = {}, .tensor = arguments[0].tensor};
    PickledTensor& tensor = value.tensor;
    tensor.offset = static_cast<std::uint64_t>(arguments[1].number);
    tensor.shape = numbers_in(arguments[2]);
    const auto strides = numbers_in(arguments[3]);
    if (strides.size() != tensor.shape.size()) damaged();
    std::uint64_t count = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        if (tensor.shape[i] > 1 && strides[i] != count) {
            refuse("has a tensor whose elements do not follow one another: call contiguous() on it "
                   "before it is saved");
        }
        if (tensor.shape[i] != 0 && count > kMaxCount / tensor.shape[i]) damaged();
        count *= tensor.shape[i];
    }
    if (tensor.offset > tensor.storage_count || count > tensor.storage_count - tensor.offset) {
        damaged();
    }
    return value;
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
        push(tensor_of(arguments.items));
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
            push_global(module.text.substr(0, kMaxNameBytes) + " " +
                        name.text.substr(0, kMaxNameBytes));
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
            push(storage_of(pop()));
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
            refuse(fmt::format("its list of tensors has an instruction {:#04x}, which is not "
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
