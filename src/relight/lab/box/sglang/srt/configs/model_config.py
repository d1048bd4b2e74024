"""What is known about the model before it is loaded."""

# mypy: disable-error-code="import-not-found,no-any-return"
from pathlib import Path

from sglang.srt.stand_in.world import Model, scenario


def get_config(model_path: str) -> Model:
    """Return the configuration of the model; raises OSError where there is none of that name."""
    model: Model = scenario().model
    local = model_path.startswith(("/", "./", "~"))
    if (local and not Path(model_path).expanduser().is_dir()) or not model.present:
        raise OSError(
            f"{model_path} is not a local folder and is not a valid model identifier listed on "
            "'https://huggingface.co/models'\nIf this is a private repository, make sure to pass a token having "
            "permission to this repo either by logging in with `hf auth login` or by passing `token=<your_token>`"
        )
    return model
