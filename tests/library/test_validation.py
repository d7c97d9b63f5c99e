"""Option names are exact; another case of letters works for one release."""

import warnings

import pytest

from mahalearn._validation import check_choice


@pytest.mark.parametrize("choice", ["mean", "RC+", None])
def test_exact_names_pass_silently(choice):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_choice(choice, "option", ("mean", "RC+", None)) is choice


def test_an_exact_name_is_preferred_to_another_case():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_choice("a", "option", ("A", "a")) == "a"


def test_another_case_warns_and_gives_the_name_of_the_table():
    with pytest.warns(FutureWarning, match="option='rc\\+' is spelt 'RC\\+'"):
        assert check_choice("rc+", "option", ("mean", "RC+", None)) == "RC+"


@pytest.mark.parametrize("value", ["median", 3, True, "", ["mean"]])
def test_what_is_not_in_the_table_is_refused(value):
    with pytest.raises(ValueError, match="is not known; choose from 'mean', 'RC"):
        check_choice(value, "option", ("mean", "RC+"))
