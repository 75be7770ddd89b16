import json
import pickle

import pytest

import trimtab_sdk.errors as errors
from trimtab_sdk import (
    InvalidRequestError,
    Origin,
    PluginRejectedError,
    TokenBudgetExceededError,
    TrimtabError,
    UnknownModelError,
)

OVER = TokenBudgetExceededError(
    needed=9,
    allowed=5,
    overhead=3,
    protected={"s": 4, "u": 2},
    places={"s": 0},
    current_input=["u"],
    smallest_limit=12,
)
ERRORS = [
    InvalidRequestError("wrong", path="messages[0]", ids=["m0"]),
    UnknownModelError("no", name="x", known=["y"]),
    PluginRejectedError("broke", origin=Origin("mine", "trimtab-mine", "1.0"), hook="trimtab_shift", ids=["a"]),
    OVER,
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_an_error_is_json_and_survives_pickling(error: TrimtabError) -> None:
    told = json.loads(json.dumps(error.to_dict()))
    assert told["code"] == error.code
    assert told["message"] == str(error)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.to_dict() == error.to_dict()


def test_the_text_of_an_exceeded_budget_never_blames_the_current_input() -> None:
    assert "s (4)" in str(OVER)
    assert "u (" not in str(OVER)
    assert "12" in str(OVER)


def test_every_error_and_code_is_in_the_tree_of_the_module() -> None:
    tree = errors.__doc__ or ""
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, TrimtabError)]
    public = [one for one in kinds if not one.__name__.startswith("_")]
    assert [one.__name__ for one in public if one.__name__ not in tree] == []
    abstract = {"TrimtabError", "PluginError", "TurnError", "ProviderError", "NotFoundError", "CursorLostError"}
    assert [one.code for one in public if one.__name__ not in abstract and one.code not in tree] == []
    for kind in ("chat", "message", "turn"):
        assert errors.NotFoundError(kind, "x").code in tree
    assert "TOOL_RESULT_CURSOR_LOSS, CURSOR_LOST_AGAIN" in tree
