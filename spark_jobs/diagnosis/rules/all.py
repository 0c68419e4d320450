"""Every rule, imported so that it registers itself."""

import spark_jobs.diagnosis.rules.checkpoint_alignment
import spark_jobs.diagnosis.rules.checkpoint_async
import spark_jobs.diagnosis.rules.checkpoint_declined
import spark_jobs.diagnosis.rules.checkpoint_expired
import spark_jobs.diagnosis.rules.checkpoint_failed
import spark_jobs.diagnosis.rules.checkpoint_full_after_restore
import spark_jobs.diagnosis.rules.checkpoint_full_after_savepoint
import spark_jobs.diagnosis.rules.checkpoint_late_message
import spark_jobs.diagnosis.rules.checkpoint_savepoint_timeout
import spark_jobs.diagnosis.rules.checkpoint_size_growth
import spark_jobs.diagnosis.rules.checkpoint_stalled
import spark_jobs.diagnosis.rules.checkpoint_start_delay
import spark_jobs.diagnosis.rules.checkpoint_sync
import spark_jobs.diagnosis.rules.checkpoint_too_frequent
import spark_jobs.diagnosis.rules.checkpoint_unprotected
import spark_jobs.diagnosis.rules.collect_blind
import spark_jobs.diagnosis.rules.data_skew
import spark_jobs.diagnosis.rules.pressure_outbound
import spark_jobs.diagnosis.rules.pressure_root
import spark_jobs.diagnosis.rules.pressure_skew
import spark_jobs.diagnosis.rules.pressure_transit
import spark_jobs.diagnosis.rules.restart_loop
import spark_jobs.diagnosis.rules.storage_amplification
import spark_jobs.diagnosis.rules.storage_cross_job
import spark_jobs.diagnosis.rules.storage_missing_reference
import spark_jobs.diagnosis.rules.storage_orphans
import spark_jobs.diagnosis.rules.storage_retained_waste
import spark_jobs.diagnosis.rules.storage_small_files
import spark_jobs.diagnosis.rules.watermark_stalled  # noqa: F401
