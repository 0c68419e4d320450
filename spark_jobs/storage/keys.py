"""How frames of files meet: by audit and canonical path, hashed first.

Sorting and comparing eight bytes is several times as fast as comparing paths whose first hundred characters are the same.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

FILE_KEY = ["path_hash", "audit_id", "path"]


def with_file_key(files: DataFrame) -> DataFrame:
    return files.withColumn("path_hash", F.xxhash64("audit_id", "path"))
