import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import { type Doing, type Failure, fieldOf, storeFailure } from './store-failure.ts'

const full: Failure = { code: 'StoreFull', cause: 'the disk is full', fix: 'Make room, then run this again' }
const taken: Failure = {
  code: 'StoreNotFolder',
  cause: 'a file is where a folder must be, or a folder where a file must be',
  fix: 'Name another folder, or move what is in the way',
}
const noLinks: Failure = {
  code: 'StoreUnsupported',
  cause: 'this file system has no hard links',
  fix: 'Use a folder on a local disk',
}

const WRITING: Readonly<Record<string, Failure>> = {
  EROFS: { code: 'StoreReadOnly', cause: 'the file system is read-only', fix: 'Name a folder that can be written' },
  EACCES: {
    code: 'StoreReadOnly',
    cause: 'this user may not write there',
    fix: 'Give the user that runs Waypost the folder, or name another',
  },
  ENOENT: {
    code: 'StoreReadOnly',
    cause: 'the folder does not exist and cannot be made',
    fix: 'Make it, or name another',
  },
  ENOTSUP: noLinks,
  EOPNOTSUPP: noLinks,
  EPERM: {
    code: 'StoreReadOnly',
    cause: 'the system does not permit it: the file system may be without hard links, or files locked against changes',
    fix: 'Use a folder on a local disk that belongs to the user that runs Waypost',
  },
}

const ALWAYS: Readonly<Record<string, Failure>> = {
  ENOSPC: full,
  EDQUOT: { ...full, cause: 'the quota of this user is used up' },
  ENOTDIR: taken,
  EISDIR: taken,
  EEXIST: taken,
  EACCES: {
    code: 'StoreDenied',
    cause: 'this user may not read there',
    fix: 'Give the user that runs Waypost the right to read the folder and all below it',
  },
  EMFILE: { code: 'StoreAway', cause: 'too many files are open', fix: 'Raise the limit of open files' },
}

/** Says what a failed system call means for the store. */
export const folderFailure = (doing: Doing, store: string, thrown: unknown): OperationError => {
  if (thrown instanceof OperationError) return thrown
  const errno = String(fieldOf(thrown, 'code') ?? 'no code')
  const writing = doing === 'write to' || doing === 'delete from' ? WRITING[errno] : undefined
  const other: Failure = {
    code: 'StoreFailed',
    cause: `the system call failed with ${printable(errno, 40)}`,
    fix: 'Check the folder and the disk it is on',
  }
  return storeFailure(doing, store, writing ?? ALWAYS[errno] ?? other, thrown)
}

export const rootIsNoFolder = (doing: Doing, store: string): OperationError =>
  storeFailure(doing, store, { ...taken, cause: 'it is a file, not a folder', fix: 'Name a folder' })
