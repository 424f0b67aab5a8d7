#include "project_server/huggingface/card_texts.hpp"

#include <fmt/format.h>

#include <variant>

#include "peer/formats/module_fields.hpp"
#include "peer/formats/swav_layout.hpp"
#include "project_server/huggingface/swav_files.hpp"

namespace dedloc::huggingface {
namespace {

constexpr const char* kAlbertFrontMatter = R"(---
library_name: transformers
pipeline_tag: fill-mask
tags:
- albert
- volunteer-computing
---

)";

constexpr const char* kAlbertLoading = R"(
## Load it

```python
from transformers import AlbertForPreTraining, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")
model = AlbertForPreTraining.from_pretrained("FOLDER")
batch = tokenizer("A sentence.", "Another one.", truncation=True, return_tensors="pt")
logits = model(**batch).prediction_logits
```

FOLDER is the folder that contains this file. For the masked-language model alone use
`AlbertForMaskedLM` or `pipeline("fill-mask", model="FOLDER")`. The text is normalised by the
SentencePiece model's own table, which `tokenizer.json` contains. `spiece.model` is the same
tokenizer for SentencePiece.
)";

constexpr const char* kSwavFrontMatter = R"(---
library_name: pytorch
pipeline_tag: image-feature-extraction
tags:
- swav
- self-supervised
- volunteer-computing
---

)";

constexpr const char* kTorchvisionLoading = R"(
## Load it

```python
import safetensors.torch
import torch
import torchvision

model = torchvision.models.{0}()
tensors = safetensors.torch.load_file("FOLDER/model.safetensors")
print(model.load_state_dict(tensors, strict=False))  # fc has no values
model.fc = torch.nn.Identity()
features = model.eval()(pictures)
```

)";

constexpr const char* kOtherLoading = R"(
## Load it

```python
import pathlib
import sys

sys.path.insert(0, "FOLDER")
from evaluate_knn import load_trunk

trunk, config = load_trunk(pathlib.Path("FOLDER"))
features = trunk(pictures)
```

)";

constexpr const char* kSwavFiles =
    R"(FOLDER is the folder that contains this file. `config.json` says which pictures the network
takes: size, mean and deviation of colours. `model.safetensors` has the trunk with torchvision's
names, `head.safetensors` the projection head and the prototypes with those of
facebookresearch/swav.

`python3 FOLDER/evaluate_knn.py --known IMAGES --tested IMAGES` measures the features on pictures of
your own, in a sub-folder for each class, as the project measures them.

No volunteer keeps running statistics of batch norms. Those in the files were computed by the
project for this state, over the middle of pictures to train on; `config.json` says how many.
)";

constexpr const char* kModuleFrontMatter = R"(---
library_name: pytorch
tags:
- torchscript
- volunteer-computing
---

)";

constexpr const char* kModuleLoading = R"(
## Load it

```python
import torch

module = torch.jit.load("FOLDER/module.pt").eval()
with torch.no_grad():
    losses = module({0})  # float32 [M]: the loss of each sample
```

FOLDER is the folder that contains this file. With M samples, `forward` takes {1}.
`module.pt` is the module that its authors gave, with the parameters of this state and nothing else
changed. `model.safetensors` has the same parameters under their names in the module, for the Python
class that it was made from:

```python
import safetensors.torch

tensors = safetensors.torch.load_file("FOLDER/model.safetensors")
model.load_state_dict(tensors, strict=False)  # buffers have no values here
```
)";

constexpr const char* kModuleTokenizer = R"(
`transformers.AutoTokenizer.from_pretrained("FOLDER")` makes token ids as they were in training;
`spiece.model` is the same tokenizer for SentencePiece.
)";

CardTexts albert_texts(const formats::AlbertSpec& model, const char* volunteers) {
    return {.front_matter = kAlbertFrontMatter,
            .description = fmt::format(
                "ALBERT ({} layers of width {} with shared weights, {} heads, {} pieces), trained "
                "for masked\nlanguage modelling and sentence order {}with DeDLOC@home.",
                model.layers, model.hidden, model.heads, model.vocabulary, volunteers),
            .loading = kAlbertLoading};
}

CardTexts swav_texts(const formats::SwavSpec& model, const char* volunteers) {
    const std::string name = torchvision_name(model.trunk);
    const std::string loading = name.empty() ? std::string{kOtherLoading}
                                             : fmt::format(fmt::runtime(kTorchvisionLoading), name);
    return {.front_matter = kSwavFrontMatter,
            .description = fmt::format(
                "{} with {} features of a picture, trained by SwAV with {} prototypes, without "
                "labels,\n{}with DeDLOC@home.",
                name.empty() ? "A residual network" : name, formats::feature_count(model.trunk),
                model.prototypes, volunteers),
            .loading = loading + kSwavFiles};
}

/// The arguments of forward, one after the other.
std::string inputs_text(const formats::RunFile& run, const formats::ModuleSpec& model) {
    if (model.inputs.empty()) {
        return fmt::format("token ids, int64 [M, {}], which follow one another in a text",
                           run.sequence_length);
    }
    if (model.picture_side != 0) {
        return fmt::format(
            "pictures, uint8 [M, 3, {0}, {0}], red, green and blue: the shorter side resized to "
            "{0} pixels, the square in the middle of the other",
            model.picture_side);
    }
    std::string text;
    for (const formats::SampleTensor& input : model.inputs) {
        text += fmt::format(
            "{}{} [M{}]", text.empty() ? "" : ", then ", formats::name_of(input.type),
            input.shape.empty() ? "" : fmt::format(", {}", fmt::join(input.shape, ", ")));
    }
    return text;
}

CardTexts module_texts(const formats::RunFile& run, const formats::ModuleSpec& model,
                       const char* volunteers) {
    const char* const arguments = model.inputs.size() == 1 ? "samples" : "*tensors";
    return {.front_matter = kModuleFrontMatter,
            .description = fmt::format(
                "The TorchScript module {} ({} parameters in {} tensors), trained {}with "
                "DeDLOC@home.\nIts authors say what it computes.",
                model.name, formats::parameter_count(run), run.tensors.size(), volunteers),
            .loading =
                fmt::format(fmt::runtime(kModuleLoading),
                            model.inputs.empty() ? "tokens" : arguments, inputs_text(run, model)) +
                (model.inputs.empty() ? kModuleTokenizer : "")};
}

}  // namespace

CardTexts card_texts(const formats::RunFile& run, bool is_by_volunteers) {
    const char* const volunteers =
        is_by_volunteers ? "by volunteers' computers over the internet " : "";
    if (const auto* const swav = std::get_if<formats::SwavSpec>(&run.model)) {
        return swav_texts(*swav, volunteers);
    }
    if (const auto* const module = std::get_if<formats::ModuleSpec>(&run.model)) {
        return module_texts(run, *module, volunteers);
    }
    return albert_texts(std::get<formats::AlbertSpec>(run.model), volunteers);
}

}  // namespace dedloc::huggingface
