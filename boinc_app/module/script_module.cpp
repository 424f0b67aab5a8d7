// The graph that runs is a copy of forward's in which all calls are inlined, so that a walk over it
// sees every operator, and every loop's body begins with check_bounds(). It runs in libtorch's
// interpreter without an executor, which would optimise it anew after some passes. Other methods
// never run. Parameters that share their memory are one: all their attributes get one view of the
// caller's vector.
#include "boinc_app/module/script_module.hpp"

#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>
#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "boinc_app/module/allowed_operators.hpp"
#include "boinc_app/training/device_error.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/module_spec.hpp"

namespace dedloc::training::module {
namespace {

using torch::jit::Graph;
using torch::jit::Node;

constexpr std::size_t kMaxRecords = 65'536;
constexpr std::uint64_t kMaxCodeBytes = std::uint64_t{1} << 24;  // sum over the code
constexpr std::size_t kMaxInputs = 16;
constexpr std::size_t kMaxExtents = 8;
constexpr std::size_t kMaxNameBytes = 254;
constexpr const char* kCheck = "dedloc::check_bounds";

/// The last line that says something: libtorch puts a trace of the module's code before it.
std::string reason_of(const std::exception& error) {
    std::string text = error.what();
    if (const auto* const torch = dynamic_cast<const c10::Error*>(&error)) {
        text = torch->what_without_backtrace();
        return text.substr(0, text.find('\n'));
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const std::size_t line = text.rfind('\n');
    return line == std::string::npos ? text : text.substr(line + 1);
}

[[noreturn]] void refuse(const std::string& sentence) {
    throw InputError{sentence};
}

/// The file's bytes for libtorch's reader.
class MemoryFile final : public caffe2::serialize::ReadAdapterInterface {
  public:
    explicit MemoryFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::size_t size() const override { return bytes_.size(); }
    std::size_t read(std::uint64_t at, void* out, std::size_t count, const char*) const override {
        if (at >= bytes_.size()) return 0;
        const std::size_t got = std::min<std::size_t>(count, bytes_.size() - at);
        std::memcpy(out, bytes_.data() + at, got);
        return got;
    }

  private:
    const std::span<const std::byte> bytes_;
};

/// Refuses what would run while the module is read: methods that set the state of an object, and
/// classes of libtorch in C++.
void check_records(const std::shared_ptr<MemoryFile>& file) {
    caffe2::serialize::PyTorchStreamReader reader{file};
    const std::vector<std::string> records = reader.getAllRecords();
    if (records.size() > kMaxRecords) refuse("the module's archive has too many files");
    std::uint64_t bytes = 0;
    for (const std::string& name : records) {
        if (!name.starts_with("code/") && !name.ends_with(".pkl")) continue;
        if (name.ends_with(".debug_pkl")) continue;
        bytes += reader.getRecordSize(name);
        if (bytes > kMaxCodeBytes) {
            refuse(fmt::format("the module's code has more than {} bytes", kMaxCodeBytes));
        }
        const auto [data, size] = reader.getRecord(name);
        const std::string_view text{static_cast<const char*>(data.get()), size};
        if (text.find("def __setstate__") != std::string_view::npos) {
            refuse("the module has a method __setstate__, which would run while it is read");
        }
        if (text.find("torch.classes") != std::string_view::npos) {
            refuse("the module uses a class of C++ (torch.classes), which is not allowed");
        }
    }
}

/// Whether forward cannot change a value of an attribute. Tensors are compared after a pass; lists
/// are only appended to where they are made (check_node).
bool is_constant(const c10::IValue& value) {
    if (value.isTuple()) {
        const auto& elements = value.toTupleRef().elements();
        return std::all_of(elements.begin(), elements.end(), is_constant);
    }
    return value.isInt() || value.isDouble() || value.isBool() || value.isString() ||
           value.isNone() || value.isDevice() || value.isIntList() || value.isDoubleList() ||
           value.isBoolList();
}

void check_attributes(const torch::jit::Module& loaded) {
    for (const auto& attribute : loaded.named_attributes()) {
        const c10::IValue& value = attribute.value;
        if (value.isTensor() || value.isModule() || is_constant(value)) continue;
        refuse(
            fmt::format("the module's attribute '{}' is a {}; tensors, numbers, texts, lists of "
                        "numbers and tuples are allowed",
                        attribute.name, value.tagKind()));
    }
}

// --- the graph ----------------------------------------------------------------------------------

/// Whether a text is only made for an error or a warning: others could grow without bound.
bool is_only_said(const torch::jit::Value& text) {
    return std::ranges::all_of(text.uses(), [](const torch::jit::Use& use) {
        const std::string_view kind = use.user->kind().toQualString();
        return kind == "prim::RaiseException" || kind == "aten::warn";
    });
}

/// Whether a node adds a list of a few elements to another: sums of other lists can double.
bool is_short_sum(const Node& node) {
    const std::string_view kind = node.kind().toQualString();
    const auto is_written_out = [](const torch::jit::Value* operand) {
        return operand->node()->kind() == torch::jit::prim::ListConstruct;
    };
    return kind == "aten::add" && std::ranges::any_of(node.inputs(), is_written_out);
}

void check_node(const Node& node) {
    const std::string_view kind = node.kind().toQualString();
    if (kind == "prim::CallMethod" || kind == "prim::CallFunction") {
        refuse("the module calls a method of an interface, which is not allowed");
    }
    if (!is_allowed(kind)) refuse(fmt::format("the module's operator {} is not allowed", kind));
    const c10::FunctionSchema* const schema = node.maybeSchema();
    if (schema != nullptr && schema->is_mutable() && kind != "aten::append") {
        refuse(fmt::format("the module's operator {} writes to its operand, which is not allowed",
                           kind));
    }
    if (kind == "aten::append") {
        const std::string_view made_by = node.input(0)->node()->kind().toQualString();
        if (made_by != "prim::ListConstruct" && made_by != "aten::list") {
            refuse("the module appends to a list that forward has not made");
        }
    }
    for (const torch::jit::Value* const output : node.outputs()) {
        const c10::TypeKind type = output->type()->kind();
        const bool is_list = type == c10::TypeKind::ListType || type == c10::TypeKind::DictType;
        if (is_list && !may_make_list(kind) && !is_short_sum(node)) {
            refuse(fmt::format("the module makes a list by {}, which is not allowed", kind));
        }
        const bool is_made = kind.starts_with("aten::") && type == c10::TypeKind::StringType;
        if (is_made && !is_only_said(*output)) {
            refuse(fmt::format("the module makes a text by {}, which is not allowed", kind));
        }
    }
}

void check_block(Graph& graph, torch::jit::Block& block) {
    for (Node* const node : block.nodes()) {
        check_node(*node);
        for (torch::jit::Block* const inner : node->blocks()) check_block(graph, *inner);
        if (node->kind() == torch::jit::prim::Loop) {
            Node* const check = graph.create(c10::Symbol::fromQualString(kCheck), 0);
            node->blocks().at(0)->prependNode(check);
        }
    }
}

/// Makes kCheck known to the interpreter, once in a process.
void register_check() {
    static const torch::jit::RegisterOperators registered{{torch::jit::Operator{
        fmt::format("{}() -> ()", kCheck), [](torch::jit::Stack&) { check_bounds(); },
        c10::AliasAnalysisKind::CONSERVATIVE}}};
}

std::shared_ptr<Graph> checked_graph(const torch::jit::Module& loaded) {
    const auto forward = loaded.find_method("forward");
    if (!forward) refuse("the module has no method forward");
    const auto& schema = forward->function().getSchema();
    const auto is_tensor = [](const c10::Argument& argument) {
        return argument.type()->kind() == c10::TypeKind::TensorType;
    };
    const auto& arguments = schema.arguments();
    const bool is_usual = arguments.size() >= 2 && arguments.size() <= 1 + kMaxInputs &&
                          std::all_of(arguments.begin() + 1, arguments.end(), is_tensor) &&
                          schema.returns().size() == 1 && is_tensor(schema.returns()[0]);
    if (!is_usual) {
        refuse(fmt::format("the module's forward must take 1 to {} tensors and return one",
                           kMaxInputs));
    }
    const auto graph = torch::jit::toGraphFunction(forward->function()).graph()->copy();
    torch::jit::Inline(*graph);
    register_check();
    check_block(*graph, *graph->block());
    return graph;
}

at::ScalarType type_of(formats::ElementType type) {
    switch (type) {
        case formats::ElementType::kInt64:
            return at::kLong;
        case formats::ElementType::kUint8:
            return at::kByte;
        case formats::ElementType::kFloat32:
            break;
    }
    return at::kFloat;
}

}  // namespace

struct ScriptModule::State {
    State(std::span<const std::byte> file, const Bounds& chosen) : bounds(chosen) {
        read(file);
        check_attributes(loaded);
        inputs = loaded.get_method("forward").function().getSchema().arguments().size() - 1;
        name_parameters();
        keep_buffers();
    }

    /// An attribute of a module within this one.
    struct Place {
        torch::jit::Module owner;
        std::string attribute;
    };
    /// A buffer, and a copy of what it must stay.
    struct Buffer {
        std::string name;
        at::Tensor tensor;
        at::Tensor copy;
    };

    void read(std::span<const std::byte> file) {
        if (file.size() > formats::kMaxModuleBytes) {
            refuse(fmt::format("the module has {} bytes; {} are allowed", file.size(),
                               formats::kMaxModuleBytes));
        }
        const Bounds reading{.bytes = 2 * file.size() + kMaxCodeBytes,
                             .operators = bounds.operators};
        const IsInterrupted never;
        BoundedPass pass{reading, never};
        try {
            const auto bytes = std::make_shared<MemoryFile>(file);
            check_records(bytes);
            loaded = torch::jit::load(bytes, at::kCPU, false);
            code = torch::jit::Code{checked_graph(loaded), "forward"};
        } catch (const InputError&) {
            throw;
        } catch (const std::exception& error) {
            if (pass.ending() != Ending::kNone) refuse(pass.sentence());
            refuse(fmt::format("the module cannot be read: {}", reason_of(error)));
        }
    }

    Place place_of(const std::string& name) const {
        Place place{loaded, name};
        for (std::size_t dot = 0; (dot = place.attribute.find('.')) != std::string::npos;) {
            place.owner = place.owner.attr(place.attribute.substr(0, dot)).toModule();
            place.attribute.erase(0, dot + 1);
        }
        return place;
    }

    void name_parameters() {
        for (const auto& parameter : loaded.named_parameters()) {
            const std::string& name = parameter.name;
            const at::Tensor& tensor = parameter.value;
            const bool is_usual = tensor.defined() && tensor.scalar_type() == at::kFloat &&
                                  tensor.layout() == at::kStrided && tensor.is_contiguous();
            if (!is_usual || tensor.numel() == 0 || name.size() > kMaxNameBytes ||
                static_cast<std::size_t>(tensor.dim()) > kMaxExtents) {
                refuse(
                    fmt::format("the module's parameter '{}' is not a contiguous float32 tensor "
                                "of 1 to {} dimensions",
                                name, kMaxExtents));
            }
            const auto same = std::ranges::find_if(tensors, [&tensor](const at::Tensor& other) {
                return other.data_ptr() == tensor.data_ptr() && other.sizes() == tensor.sizes();
            });
            const auto index = static_cast<std::size_t>(same - tensors.begin());
            if (same == tensors.end()) {
                Parameter known{.name = name, .shape = {}};
                for (const std::int64_t extent : tensor.sizes()) {
                    known.shape.push_back(static_cast<std::uint64_t>(extent));
                }
                if (known.shape.empty()) known.shape.push_back(1);
                parameters.push_back(std::move(known));
                tensors.push_back(tensor);
                places.emplace_back();
            }
            places[index].push_back(place_of(name));
        }
        if (parameters.empty()) refuse("the module has no parameter");
    }

    void keep_buffers() {
        std::unordered_set<std::string> names;
        for (const auto& parameter : loaded.named_parameters()) names.insert(parameter.name);
        for (const auto& attribute : loaded.named_attributes()) {
            if (!attribute.value.isTensor() || names.contains(attribute.name)) continue;
            const at::Tensor& tensor = attribute.value.toTensor();
            if (tensor.defined()) buffers.push_back({attribute.name, tensor, tensor.clone()});
        }
    }

    void check_buffers() const {
        for (const Buffer& buffer : buffers) {
            const bool is_same =
                buffer.tensor.is_contiguous() && buffer.tensor.nbytes() == buffer.copy.nbytes() &&
                (buffer.copy.numel() == 0 ||
                 std::memcmp(buffer.tensor.const_data_ptr(), buffer.copy.const_data_ptr(),
                             buffer.copy.nbytes()) == 0);
            if (is_same) continue;
            buffer.tensor.copy_(buffer.copy);
            refuse(
                fmt::format("the module writes to its buffer '{}', which peers do not share: "
                            "use group norm in place of batch norm",
                            buffer.name));
        }
    }

    /// The losses [M] of the samples.
    at::Tensor forward(std::span<const InputTensor> given) {
        DEDLOC_CHECK(given.size() == inputs, "forward takes other tensors", given.size());
        torch::jit::Stack stack{loaded._ivalue()};
        for (const InputTensor& input : given) {
            const std::vector<std::int64_t> shape(input.shape.begin(), input.shape.end());
            stack.emplace_back(at::from_blob(const_cast<std::byte*>(input.bytes.data()), shape,
                                             at::dtype(type_of(input.type))));
        }
        torch::jit::InterpreterState{code}.run(stack);
        const at::Tensor losses = stack.back().toTensor();
        const auto samples = static_cast<std::int64_t>(given[0].shape.at(0));
        if (!losses.defined() || losses.scalar_type() != at::kFloat || losses.dim() != 1 ||
            losses.size(0) != samples) {
            refuse(
                fmt::format("the module's forward must return the {} losses of its samples as "
                            "float32 [{}]",
                            samples, samples));
        }
        return losses;
    }

    /// Calls `compute` within the bounds. False when interrupted.
    template <class Compute>
    bool bounded(std::span<const InputTensor> given, const IsInterrupted& is_interrupted,
                 const Compute& compute, PassCost* cost = nullptr) {
        const std::uint64_t samples = given[0].shape.at(0);
        const Bounds these{.bytes = bounds.bytes + samples * bounds.sample_bytes,
                           .operators = bounds.operators};
        BoundedPass pass{these, is_interrupted};
        try {
            if (cost != nullptr) pass.count_operations();
            compute();
            if (cost != nullptr) *cost = {pass.operations(), pass.peak_bytes()};
            return true;
        } catch (const InputError&) {
            throw;
        } catch (const std::exception& error) {
            if (pass.ending() == Ending::kInterrupted) return false;
            if (pass.ending() == Ending::kTooLarge && samples > 1) {
                throw DeviceError{DeviceFailure::kOutOfMemory, pass.sentence()};
            }
            if (pass.ending() != Ending::kNone) refuse(pass.sentence());
            refuse(fmt::format("the module's forward fails: {}", reason_of(error)));
        }
    }

    const Bounds bounds;
    torch::jit::Module loaded;
    torch::jit::Code code;
    std::size_t inputs = 0;
    std::vector<Parameter> parameters;
    std::vector<at::Tensor> tensors;         // one for each parameter
    std::vector<std::vector<Place>> places;  // likewise: its attributes
    std::vector<Buffer> buffers;
    std::vector<std::uint64_t> offsets;  // those that bind() was given
};

ScriptModule::ScriptModule(std::span<const std::byte> file, const Bounds& bounds)
    : state_(std::make_unique<State>(file, bounds)) {}

ScriptModule::~ScriptModule() = default;

const std::vector<Parameter>& ScriptModule::parameters() const {
    return state_->parameters;
}

std::size_t ScriptModule::input_count() const {
    return state_->inputs;
}

void ScriptModule::copy_parameters(std::span<const std::uint64_t> offsets,
                                   std::span<float> vector) const {
    DEDLOC_CHECK(offsets.size() == state_->tensors.size(), "an offset for each parameter");
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const at::Tensor& tensor = state_->tensors[i];
        const auto count = static_cast<std::size_t>(tensor.numel());
        const auto out = vector.subspan(static_cast<std::size_t>(offsets[i]), count);
        std::memcpy(out.data(), tensor.const_data_ptr<float>(), out.size_bytes());
    }
}

void ScriptModule::bind(std::span<const std::uint64_t> offsets, std::span<const float> vector) {
    DEDLOC_CHECK(offsets.size() == state_->tensors.size(), "an offset for each parameter");
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        at::Tensor& tensor = state_->tensors[i];
        const auto place = vector.subspan(static_cast<std::size_t>(offsets[i]),
                                          static_cast<std::size_t>(tensor.numel()));
        // Torch has no tensors of constant memory; no operator that writes to an operand runs.
        tensor = at::for_blob(const_cast<float*>(place.data()), tensor.sizes())
                     .options(at::dtype(at::kFloat))
                     .make_tensor();
        tensor.set_requires_grad(true);
        for (State::Place& where : state_->places[i]) where.owner.setattr(where.attribute, tensor);
    }
    state_->offsets.assign(offsets.begin(), offsets.end());
}

std::optional<double> ScriptModule::add_gradient(std::span<const InputTensor> inputs,
                                                 std::span<float> sum,
                                                 const IsInterrupted& is_interrupted) {
    DEDLOC_CHECK(!state_->offsets.empty(), "the module has no parameters yet");
    std::vector<at::Tensor> gradients;
    double loss_sum = 0;
    const bool is_whole = state_->bounded(inputs, is_interrupted, [&] {
        const at::Tensor losses = state_->forward(inputs);
        if (!losses.requires_grad()) refuse("the module's losses do not follow from parameters");
        gradients =
            torch::autograd::grad({losses.sum()}, state_->tensors, {}, std::nullopt, false, true);
        loss_sum = losses.detach().to(at::kDouble).sum().item<double>();
    });
    state_->check_buffers();
    if (!is_whole) return std::nullopt;
    const c10::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (!gradients[i].defined()) continue;  // forward does not use the parameter
        const auto place = sum.subspan(static_cast<std::size_t>(state_->offsets[i]),
                                       static_cast<std::size_t>(gradients[i].numel()));
        at::from_blob(place.data(), gradients[i].sizes(), at::dtype(at::kFloat)).add_(gradients[i]);
    }
    return loss_sum;
}

PassCost ScriptModule::measure(std::span<const InputTensor> inputs) {
    PassCost cost;
    state_->bounded(
        inputs, {},
        [&] {
            const at::Tensor losses = state_->forward(inputs);
            torch::autograd::grad({losses.sum()}, state_->tensors, {}, std::nullopt, false, true);
        },
        &cost);
    return cost;
}

std::optional<std::vector<float>> ScriptModule::losses(std::span<const InputTensor> inputs,
                                                       const IsInterrupted& is_interrupted) {
    const c10::NoGradGuard no_gradients;
    std::vector<float> values;
    const bool is_whole = state_->bounded(inputs, is_interrupted, [&] {
        const at::Tensor losses = state_->forward(inputs).contiguous();
        const float* const first = losses.const_data_ptr<float>();
        values.assign(first, first + losses.numel());
    });
    state_->check_buffers();
    if (!is_whole) return std::nullopt;
    return values;
}

void ScriptModule::save(const std::filesystem::path& path) const {
    try {
        state_->loaded.save(path.string());
    } catch (const std::exception& error) {
        throw IoError{fmt::format("{} cannot be written: {}", path.string(), reason_of(error))};
    }
}

}  // namespace dedloc::training::module
