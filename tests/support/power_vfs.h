/* SPDX-License-Identifier: Apache-2.0 */
/* An SQLite VFS over the real one, which can lose what was not synced. Writes go to the real files;
 * what a sync has made lasting is remembered beside. At power loss each later write is kept,
 * dropped or torn at random. One at a time, any thread. */
#ifndef TESTS_SUPPORT_POWER_VFS_H
#define TESTS_SUPPORT_POWER_VFS_H

#define POWER_VFS "power"

/* Registers it once; forgets all files and faults. seed: of the choices. */
void power_vfs_reset(unsigned seed);
/* The power goes before the n-th write or sync from now: it and all after it fail. */
void power_vfs_cut_after(long n);
/* Rewrites the files as they are found after the loss; the power is back. All must be closed. */
void power_vfs_restart(void);
/* Every write fails for want of space while on. */
void power_vfs_disk_full(int on);
/* One in n writes and syncs fails, or syncs only; 0: none. After a sync that failed some of what it
 * was to write is found after a loss of power and some is not, whatever is synced later. */
void power_vfs_errors(int one_in);
void power_vfs_sync_errors(int one_in);

#endif
