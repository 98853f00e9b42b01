import t from 'tap'
import { containerTree } from '../system/container.ts'
import { build } from './build.ts'

build(t, containerTree, 'sh', '-c', 'haproxy -v && keepalived --version')
