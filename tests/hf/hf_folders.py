"""Opens Hugging Face folders as a user of transformers does."""
import logging
import warnings

from transformers import AutoModelForCausalLM
from transformers.utils import logging as hf_logging

hf_logging.disable_progress_bar()


class Complaints(logging.Handler):
    """Collects what transformers logs at warning level or above."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def open_model(folder, **options):
    """Opens a folder as a user would; any warning and any key that does not fit is a failure."""
    complaints = Complaints()
    logger = hf_logging.get_logger("transformers")
    logger.addHandler(complaints)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, **options)
    finally:
        logger.removeHandler(complaints)
    assert not complaints.lines, complaints.lines
    assert not any(info.values()), info
    return model.eval()
