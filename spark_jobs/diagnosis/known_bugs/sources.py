"""Addresses of what was read: notes of releases, pull requests, commits."""

from datetime import date

READ_ON = date(2026, 11, 29)


def notes(*dated: str) -> tuple[str, ...]:
    return tuple(f"https://flink.apache.org/news/{page}.html" for page in dated)


def pull(*numbers: int) -> tuple[str, ...]:
    return tuple(f"https://github.com/apache/flink/pull/{number}" for number in numbers)


def commit(*hashes: str) -> tuple[str, ...]:
    return tuple(f"https://github.com/apache/flink/commit/{hash}" for hash in hashes)


NOTES_1_12_2 = notes("2021/03/03/release-1.12.2")
NOTES_1_12_5 = notes("2021/08/06/release-1.12.5")
NOTES_1_13_2 = notes("2021/08/06/release-1.13.2")
NOTES_1_13_6 = notes("2022/02/18/release-1.13.6")
NOTES_1_14_3 = notes("2022/01/17/release-1.14.3")
NOTES_1_15_1 = notes("2022/07/06/release-1.15.1")
NOTES_1_15_3 = notes("2022/11/10/release-1.15.3")
NOTES_1_15_4 = ("https://flink.apache.org/2023/03/15/apache-flink-1.15.4-release-announcement/",)
NOTES_1_16_1 = notes("2023/01/30/release-1.16.1")
NOTES_1_16_2 = notes("2023/05/25/release-1.16.2")
NOTES_1_16_3 = notes("2023/11/29/release-1.16.3")
NOTES_1_17_1 = notes("2023/05/25/release-1.17.1")
NOTES_1_17_2 = notes("2023/11/29/release-1.17.2")
NOTES_1_18_1 = notes("2024/01/19/release-1.18.1")
NOTES_1_19_1 = notes("2024/06/14/release-1.19.1")
