"""Personal data out of the texts of kept documents; where it was is kept, and bronze keeps the text as received."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from schemas.conf import Curate
from udfs.pii.mask import masked_texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def mask_documents(documents: DataFrame, curate: Curate) -> DataFrame:
    """Replace the finds in ``text`` by placeholders, as configured.

    Args:
        documents: ``text``, ``n_chars``, and ``pii_spans`` of the profile.
        curate: whether to.

    Returns:
        The same rows with ``masked``: the spans that were replaced, null where nothing was. ``n_chars`` follows the text.
    """
    if not curate.mask_pii:
        return documents.withColumn("masked", F.lit(None).cast("string"))
    masked = F.arrow_udf(masked_texts, "string")
    found = documents.withColumn("masked", F.when(F.col("pii_spans") != "[]", F.col("pii_spans")))
    changed = F.col("masked").isNotNull()
    return found.withColumn("text", F.when(changed, masked("text", "masked")).otherwise(F.col("text"))).withColumn(
        "n_chars", F.when(changed, F.char_length("text").cast("long")).otherwise(F.col("n_chars"))
    )
