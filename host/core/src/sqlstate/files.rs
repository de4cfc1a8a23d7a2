//! The source files of PostgreSQL 13 to 18 and of PL/pgSQL, by which the server says where it raised an error.
//!
//! None of them raises an error with a code that a function chose, but for the one routine that runs RAISE.

/// Their names, in order, one space apart.
const FILES: &str = "\
    acl.c aclchk.c aggregatecmds.c aio.c aio_callback.c aio_init.c aio_io.c aio_target.c alignedalloc.c allpaths.c \
    alter.c amapi.c amcmds.c amvalidate.c analyze.c analyzejoins.c appendinfo.c array_expanded.c array_selfuncs.c \
    array_typanalyze.c array_userfuncs.c arrayfuncs.c arraysubs.c arrayutils.c ascii.c aset.c async.c attmap.c \
    attoptcache.c auth-oauth.c auth-sasl.c auth-scram.c auth.c autovacuum.c auxprocess.c backend_startup.c \
    backup_manifest.c barrier.c base64.c basebackup.c basebackup_copy.c basebackup_gzip.c basebackup_incremental.c \
    basebackup_lz4.c basebackup_progress.c basebackup_server.c basebackup_sink.c basebackup_target.c \
    basebackup_zstd.c be-fsstubs.c be-gssapi-common.c be-secure-common.c be-secure-gssapi.c be-secure-openssl.c \
    be-secure.c bernoulli.c bgworker.c binaryheap.c bipartite_match.c bitmapset.c blkreftable.c bool.c bootparse.y \
    bootscanner.l bootstrap.c brin.c brin_bloom.c brin_inclusion.c brin_minmax.c brin_minmax_multi.c brin_pageops.c \
    brin_revmap.c brin_validate.c brin_xlog.c buf_table.c buffile.c bufmask.c bufmgr.c bufpage.c bulk_write.c bump.c \
    cash.c catalog.c catcache.c char.c checkpointer.c chklocale.c clauses.c clog.c cluster.c collationcmds.c \
    combocid.c comment.c commit_ts.c condition_variable.c conflict.c constraint.c controldata_utils.c conv.c \
    conversioncmds.c copy.c copydir.c copyfrom.c copyfromparse.c copyfuncs.c copyto.c costsize.c createas.c \
    createplan.c crypt.c cryptohash_openssl.c cryptohashfuncs.c cyrillic_and_mic.c d2s.c datachecksum_state.c date.c \
    datetime.c datum.c dbcommands.c dbsize.c deadlock.c decode.c define.c dependencies.c dependency.c detoast.c \
    dfmgr.c dict.c dict_ispell.c dict_simple.c dict_snowball.c dict_synonym.c dict_thesaurus.c discard.c domains.c \
    dropcmds.c dsa.c dshash.c dsm.c dsm_impl.c dsm_registry.c dynahash.c elog.c encode.c enum.c equalfuncs.c \
    equivclass.c event_trigger.c evtcache.c exec.c execAmi.c execAsync.c execCurrent.c execExpr.c execExprInterp.c \
    execGrouping.c execIndexing.c execJunk.c execMain.c execParallel.c execPartition.c execProcnode.c \
    execReplication.c execSRF.c execScan.c execTuples.c execUtils.c expandedrecord.c explain.c extended_stats.c \
    extensible.c extension.c fastpath.c fd.c file_utils.c fileset.c float.c fmgr.c foreign.c foreigncmds.c \
    format_type.c formatting.c freelist.c freepage.c freespace.c fsmpage.c funcapi.c functioncmds.c functions.c \
    genam.c generation.c generic_xlog.c genfile.c geo_ops.c geo_spgist.c geqo_erx.c geqo_main.c geqo_pool.c \
    ginarrayproc.c ginbtree.c ginbulk.c gindatapage.c ginentrypage.c ginfast.c ginget.c gininsert.c ginscan.c \
    ginutil.c ginvacuum.c ginvalidate.c ginxlog.c gist.c gistbuild.c gistbuildbuffers.c gistget.c gistproc.c \
    gistscan.c gistsplit.c gistutil.c gistvacuum.c gistvalidate.c gistxlog.c gram.c gram.y guc-file.l guc.c \
    guc_funcs.c guc_tables.c hash.c hash_xlog.c hashfn.c hashfunc.c hashinsert.c hashovfl.c hashpage.c hashsearch.c \
    hashutil.c hashvalidate.c hba.c hbafuncs.c heap.c heapam.c heapam_handler.c heaptoast.c heaptuple.c hio.c \
    hmac_openssl.c hyperloglog.c index.c indexam.c indexcmds.c indextuple.c indxpath.c inet_net_pton.c inherit.c \
    initsplan.c injection_point.c instrument.c int.c int8.c integerset.c inv_api.c inval.c ipc.c ipci.c jit.c \
    joinpath.c joinrels.c json.c jsonapi.c jsonb.c jsonb_gin.c jsonb_op.c jsonb_util.c jsonbsubs.c jsonfuncs.c \
    jsonpath.c jsonpath_exec.c jsonpath_gram.y jsonpath_scan.l latch.c launch_backend.c launcher.c levenshtein.c \
    libpqwalreceiver.c like.c like_match.c like_support.c localbuf.c lock.c lockcmds.c lockfuncs.c logical.c \
    logicalfuncs.c logtape.c lsyscache.c lwlock.c mac.c main.c makefuncs.c matview.c mbutils.c mcv.c mcxt.c \
    mcxtfuncs.c md.c message.c method_io_uring.c method_sync.c method_worker.c misc.c miscinit.c multirangetypes.c \
    multirangetypes_selfuncs.c multixact.c mvdistinct.c name.c namespace.c nbtdedup.c nbtinsert.c nbtpage.c nbtree.c \
    nbtsearch.c nbtsort.c nbtsplitloc.c nbtutils.c nbtvalidate.c nbtxlog.c network.c network_gist.c \
    network_selfuncs.c nodeAgg.c nodeAppend.c nodeBitmapAnd.c nodeBitmapHeapscan.c nodeBitmapIndexscan.c \
    nodeBitmapOr.c nodeCtescan.c nodeCustom.c nodeForeignscan.c nodeFuncs.c nodeFunctionscan.c nodeGather.c \
    nodeGatherMerge.c nodeGroup.c nodeHash.c nodeHashjoin.c nodeIncrementalSort.c nodeIndexonlyscan.c \
    nodeIndexscan.c nodeLimit.c nodeLockRows.c nodeMaterial.c nodeMemoize.c nodeMergeAppend.c nodeMergejoin.c \
    nodeModifyTable.c nodeNamedtuplestorescan.c nodeNestloop.c nodeProjectSet.c nodeRecursiveunion.c nodeResult.c \
    nodeResultCache.c nodeSamplescan.c nodeSeqscan.c nodeSetOp.c nodeSort.c nodeSubplan.c nodeSubqueryscan.c \
    nodeTableFuncscan.c nodeTidrangescan.c nodeTidscan.c nodeUnique.c nodeValuesscan.c nodeWindowAgg.c \
    nodeWorktablescan.c numeric.c numutils.c objectaddress.c oid.c opclasscmds.c operatorcmds.c oracle_compat.c \
    orderedsetaggs.c origin.c outfuncs.c parallel.c paramassign.c parse_agg.c parse_clause.c parse_coerce.c \
    parse_collate.c parse_cte.c parse_expr.c parse_func.c parse_jsontable.c parse_merge.c parse_node.c parse_oper.c \
    parse_param.c parse_relation.c parse_target.c parse_type.c parse_utilcmd.c parser.c partbounds.c partcache.c \
    partdesc.c partition.c partprune.c path.c pathkeys.c pathnode.c pg_aggregate.c pg_attrdef.c pg_cast.c pg_class.c \
    pg_collation.c pg_constraint.c pg_controldata.c pg_conversion.c pg_depend.c pg_enum.c pg_inherits.c \
    pg_largeobject.c pg_locale.c pg_locale_builtin.c pg_locale_icu.c pg_locale_libc.c pg_lsn.c pg_namespace.c \
    pg_operator.c pg_parameter_acl.c pg_proc.c pg_publication.c pg_sema.c pg_shdepend.c pg_shmem.c pg_subscription.c \
    pg_type.c pg_upgrade_support.c pgarch.c pgfnames.c pgoutput.c pgstat.c pgstat_backend.c pgstat_bgwriter.c \
    pgstat_checkpointer.c pgstat_database.c pgstat_function.c pgstat_io.c pgstat_relation.c pgstat_replslot.c \
    pgstat_shmem.c pgstat_slru.c pgstat_subscription.c pgstat_wal.c pgstat_xact.c pgstatfuncs.c pgtz.c pl_comp.c \
    pl_exec.c pl_funcs.c pl_gram.c pl_gram.y pl_handler.c pl_scanner.c pl_scanner.l placeholder.c planagg.c \
    plancache.c plancat.c planmain.c planner.c pmchild.c pmsignal.c policy.c portalcmds.c portalmem.c postgres.c \
    postinit.c postmaster.c pqcomm.c pqformat.c pqmq.c pquery.c predicate.c predtest.c prepagg.c prepare.c \
    prepjointree.c prepqual.c preptlist.c prepunion.c print.c printsimple.c printtup.c proc.c procarray.c proclang.c \
    procsignal.c proto.c pruneheap.c pseudotypes.c psprintf.c publicationcmds.c queryjumble.c queryjumblefuncs.c \
    rangetypes.c rangetypes_gist.c rangetypes_selfuncs.c rangetypes_spgist.c rbtree.c read.c read_stream.c \
    readfuncs.c regc_lex.c regc_pg_locale.c regexp.c regis.c regproc.c reinit.c relation.c relcache.c \
    relfilenodemap.c relfilenumbermap.c relmapper.c relnode.c reloptions.c relpath.c reorderbuffer.c repl_gram.y \
    repl_scanner.l resowner.c rewriteDefine.c rewriteHandler.c rewriteManip.c rewriteRemove.c rewriteSearchCycle.c \
    rewriteSupport.c rewriteheap.c ri_triggers.c rls.c rmgr.c rmgrdesc_utils.c rmtree.c rowsecurity.c rowtypes.c \
    ruleutils.c s_lock.c scan.c scan.l scansup.c schemacmds.c scram-common.c seclabel.c selfuncs.c sequence.c \
    session.c setrefs.c sharedfileset.c sharedtuplestore.c shell_archive.c shm_mq.c shm_toc.c shmem.c signalfuncs.c \
    sinval.c sinvaladt.c skey.c slab.c slot.c slotfuncs.c slotsync.c slru.c smgr.c snapbuild.c snapmgr.c \
    sortsupport.c spccache.c spell.c spgdoinsert.c spginsert.c spgkdtreeproc.c spgquadtreeproc.c spgscan.c \
    spgtextproc.c spgutils.c spgvacuum.c spgvalidate.c spgxlog.c spi.c standby.c statscmds.c storage.c stringinfo.c \
    subscriptioncmds.c subselect.c subtrans.c sync.c syncrep.c syncrep_scanner.l syscache.c syslogger.c table.c \
    tableam.c tableamapi.c tablecmds.c tablesample.c tablespace.c tablesync.c tid.c tidbitmap.c tidstore.c \
    timeline.c timeout.c timestamp.c tlist.c to_tsany.c toast_compression.c toast_internals.c toasting.c tqueue.c \
    transam.c trigfuncs.c trigger.c ts_cache.c ts_locale.c ts_parse.c ts_selfuncs.c ts_typanalyze.c ts_utils.c \
    tsearchcmds.c tsginidx.c tsgistidx.c tsquery.c tsquery_cleanup.c tsquery_op.c tsquery_rewrite.c tsquery_util.c \
    tsrank.c tsvector.c tsvector_op.c tsvector_parser.c tupdesc.c tuplesort.c tuplestore.c twophase.c typcache.c \
    typecmds.c unicode_norm.c user.c usercontext.c utility.c uuid.c vacuum.c vacuumlazy.c vacuumparallel.c var.c \
    varbit.c varchar.c variable.c varlena.c varsup.c view.c visibilitymap.c wait_event.c waiteventset.c \
    walreceiver.c walreceiverfuncs.c walsender.c walsummarizer.c walsummary.c walsummaryfuncs.c wchar.c \
    windowfuncs.c worker.c wparser.c wparser_def.c xact.c xid8funcs.c xlog.c xlogarchive.c xlogbackup.c xlogfuncs.c \
    xloginsert.c xlogprefetcher.c xlogreader.c xlogrecovery.c xlogutils.c xml.c";

/// Whether the server itself is made of this file.
pub(super) fn is_of_the_server(file: &str) -> bool {
    FILES.split(' ').any(|own| own == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_in_order_and_each_stands_once() {
        let files: Vec<&str> = FILES.split(' ').collect();
        assert!(files.windows(2).all(|two| two[0] < two[1]), "{files:?}");
        for file in ["md.c", "mcxt.c", "postgres.c", "execMain.c", "pl_exec.c"] {
            assert!(is_of_the_server(file), "{file}");
        }
        for file in [
            "",
            "hstore_io.c",
            "plpy_elog.c",
            "connection.c",
            "md.c md.c",
        ] {
            assert!(!is_of_the_server(file), "{file}");
        }
    }
}
