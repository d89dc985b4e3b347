-- The tables of the first version as its own program has left them: stock in two slots and two places, orders in every
-- state, tasks that are open, silent, done and returned. A few rows that prove nothing are left out, and the numbers of
-- reservations and movements are short ones. All times are of one moment: a test moves them to the present.

CREATE TABLE schema_version (
  version int(11) NOT NULL,
  applied_at datetime(3) NOT NULL,
  PRIMARY KEY (version)
) ENGINE=InnoDB;

INSERT INTO schema_version (version, applied_at) VALUES
  (1, '2026-11-22 18:55:37.701'),
  (2, '2026-11-22 18:55:37.716'),
  (3, '2026-11-22 18:55:37.723'),
  (4, '2026-11-22 18:55:37.738'),
  (5, '2026-11-22 18:55:37.741'),
  (6, '2026-11-22 18:55:37.765'),
  (7, '2026-11-22 18:55:37.765'),
  (8, '2026-11-22 18:55:37.777'),
  (9, '2026-11-22 18:55:37.784'),
  (10, '2026-11-22 18:55:37.787');

CREATE TABLE identity (
  one tinyint(3) unsigned NOT NULL,
  mark bigint(20) unsigned NOT NULL,
  PRIMARY KEY (one)
) ENGINE=InnoDB;

INSERT INTO identity (one, mark) VALUES
  (1, 3545189785115645);

CREATE TABLE sku (
  sku_id int(10) unsigned NOT NULL AUTO_INCREMENT,
  code varbinary(64) NOT NULL,
  created_at datetime(3) NOT NULL,
  PRIMARY KEY (sku_id),
  UNIQUE KEY code (code)
) ENGINE=InnoDB AUTO_INCREMENT=3;

INSERT INTO sku (sku_id, code, created_at) VALUES
  (1, 'A', '2026-11-22 18:55:37.941'),
  (2, 'B', '2026-11-22 18:55:37.941');

CREATE TABLE location (
  location_id int(10) unsigned NOT NULL AUTO_INCREMENT,
  code varbinary(32) NOT NULL,
  PRIMARY KEY (location_id),
  UNIQUE KEY code (code)
) ENGINE=InnoDB AUTO_INCREMENT=4;

INSERT INTO location (location_id, code) VALUES
  (1, 'main'),
  (3, 'paris');

CREATE TABLE stock_slot (
  sku_id int(10) unsigned NOT NULL,
  location_id int(10) unsigned NOT NULL,
  slot smallint(5) unsigned NOT NULL,
  available bigint(20) NOT NULL,
  reserved bigint(20) NOT NULL,
  PRIMARY KEY (sku_id,location_id,slot),
  CONSTRAINT available_not_negative CHECK (available >= 0),
  CONSTRAINT reserved_not_negative CHECK (reserved >= 0)
) ENGINE=InnoDB;

INSERT INTO stock_slot (sku_id, location_id, slot, available, reserved) VALUES
  (1, 1, 0, 79, 7),
  (1, 1, 1, 8, 4),
  (1, 3, 0, 10, 0),
  (2, 1, 0, 14, 4),
  (2, 1, 1, 0, 39);

CREATE TABLE movement (
  movement_no bigint(20) unsigned NOT NULL,
  movement_id varbinary(96) NOT NULL,
  kind tinyint(3) unsigned NOT NULL,
  lines_hash binary(16) NOT NULL,
  created_at datetime(3) NOT NULL,
  reason varbinary(500) DEFAULT NULL,
  reference varbinary(500) DEFAULT NULL,
  PRIMARY KEY (movement_no),
  UNIQUE KEY movement_id (movement_id)
) ENGINE=InnoDB;

INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at, reason, reference) VALUES
  (51, 'M1', 1, X'0EDA90B217160CFD70E4DA733E9E5E7B', '2026-11-22 18:55:37.945', NULL, NULL),
  (52, 'M2', 1, X'E0E94397CE2479EE777FE4942C292D43', '2026-11-22 18:55:37.964', NULL, 'PO-7'),
  (53, 'M3', 2, X'1C88E5181551D32A46007B85D2268168', '2026-11-22 18:55:37.979', 'broken', NULL),
  (54, 'settlement/1/102', 5, X'00000000000000000000000000000000', '2026-11-22 18:55:38.107', NULL, '1'),
  (55, 'M4', 1, X'1E23007B218EB5A4E5FED9192E2ABF0F', '2026-11-22 18:55:40.294', NULL, NULL);

CREATE TABLE movement_line (
  movement_no bigint(20) unsigned NOT NULL,
  sku_id int(10) unsigned NOT NULL,
  location_id int(10) unsigned NOT NULL,
  slot smallint(5) unsigned NOT NULL,
  qty bigint(20) NOT NULL,
  PRIMARY KEY (movement_no,sku_id,location_id,slot),
  KEY sku_history (sku_id,movement_no)
) ENGINE=InnoDB;

INSERT INTO movement_line (movement_no, sku_id, location_id, slot, qty) VALUES
  (51, 1, 1, 0, 100),
  (51, 2, 1, 0, 40),
  (52, 1, 3, 0, 10),
  (53, 2, 1, 1, -2),
  (54, 1, 1, 0, -2),
  (54, 2, 1, 0, -1),
  (55, 2, 1, 0, 20);

CREATE TABLE lane (
  lane_id int(10) unsigned NOT NULL AUTO_INCREMENT,
  slot smallint(5) unsigned NOT NULL,
  mark bigint(20) unsigned NOT NULL DEFAULT 0,
  epoch int(10) unsigned NOT NULL,
  batch_no bigint(20) unsigned NOT NULL,
  batch_at datetime(3) NOT NULL,
  started_at datetime(3) NOT NULL,
  ops bigint(20) unsigned NOT NULL DEFAULT 0,
  PRIMARY KEY (lane_id)
) ENGINE=InnoDB AUTO_INCREMENT=5;

INSERT INTO lane (lane_id, slot, mark, epoch, batch_no, batch_at, started_at, ops) VALUES
  (3, 0, 7291398648042314671, 1, 9, '2026-11-22 18:55:40.378', '2026-11-22 18:55:40.177', 9),
  (4, 1, 5467352012193684719, 1, 11, '2026-11-22 18:55:40.352', '2026-11-22 18:55:40.178', 11);

CREATE TABLE reservation (
  reservation_id bigint(20) unsigned NOT NULL,
  order_id varbinary(64) NOT NULL,
  lines_hash binary(16) NOT NULL,
  key_id int(10) unsigned DEFAULT NULL,
  state tinyint(3) unsigned NOT NULL,
  due_at datetime(3) NOT NULL,
  expires_at datetime(3) NOT NULL,
  task_id bigint(20) unsigned DEFAULT NULL,
  attempts smallint(5) unsigned NOT NULL,
  last_error varbinary(500) DEFAULT NULL,
  created_at datetime(3) NOT NULL,
  confirmed_at datetime(3) DEFAULT NULL,
  released_at datetime(3) DEFAULT NULL,
  settled_at datetime(3) DEFAULT NULL,
  PRIMARY KEY (reservation_id),
  UNIQUE KEY order_id (order_id),
  KEY claim (state,task_id,due_at)
) ENGINE=InnoDB;

INSERT INTO reservation (reservation_id, order_id, lines_hash, key_id, state, due_at, expires_at, task_id,
  attempts, last_error, created_at, confirmed_at, released_at, settled_at) VALUES
  (101, 'EARLIER', X'5645BBDE2EE72CA45824EC743AD5E05A', NULL, 4, '2026-11-22 19:10:38.017',
    '2026-11-22 19:10:38.017', NULL, 0, NULL, '2026-11-22 18:55:38.017', NULL, '2026-11-22 18:55:38.188', NULL),
  (102, 'SETTLED', X'9373CEDA72DB7D1BD6F58623912DBDED', NULL, 3, '2026-11-22 18:55:38.067',
    '2026-11-22 19:10:38.063', 1, 1, NULL, '2026-11-22 18:55:38.063', '2026-11-22 18:55:38.067', NULL,
    '2026-11-22 18:55:38.107'),
  (103, 'BURIED', X'033A8FAC897DEA87B5B8076E5F5FFADD', NULL, 6, '2026-11-22 18:55:38.135',
    '2026-11-22 19:10:38.132', NULL, 1, 'no carrier', '2026-11-22 18:55:38.132', '2026-11-22 18:55:38.135', NULL,
    NULL),
  (104, 'CONFIRMED', X'AB6C16AD638678CEDFF868C1F77A4AD4', NULL, 2, '2026-11-22 18:55:38.151',
    '2026-11-22 19:10:38.149', NULL, 0, NULL, '2026-11-22 18:55:38.149', '2026-11-22 18:55:38.151', NULL, NULL),
  (105, 'EXPIRED', X'49D45EE12350799312F2951E1B6760EC', NULL, 5, '2026-11-22 18:55:39.225',
    '2026-11-22 18:55:39.225', 4, 0, NULL, '2026-11-22 18:55:38.225', NULL, NULL, NULL),
  (106, 'OF-KEY', X'F709F8783BFBFA4C880E9A1DE2BD7A60', 2375025107, 1, '2026-11-23 17:09:00.262',
    '2026-11-23 17:09:00.262', NULL, 0, NULL, '2026-11-22 18:55:40.260', NULL, NULL, NULL),
  (107, 'HELD', X'3593B17EF1E4438BE8FAAFAA8D1B7F4E', 2375025107, 1, '2026-11-23 17:09:00.268',
    '2026-11-23 17:09:00.268', NULL, 0, NULL, '2026-11-22 18:55:40.268', NULL, NULL, NULL),
  (108, 'HELD-2', X'F709F8783BFBFA4C880E9A1DE2BD7A60', 2375025107, 1, '2026-11-23 17:09:00.272',
    '2026-11-23 17:09:00.272', NULL, 0, NULL, '2026-11-22 18:55:40.272', NULL, NULL, NULL),
  (109, 'PART', X'724F3065F708C80D31999DA76326A2A9', 2375025107, 4, '2026-11-23 17:09:00.280',
    '2026-11-23 17:09:00.280', NULL, 0, NULL, '2026-11-22 18:55:40.280', NULL, '2026-11-22 18:55:40.284', NULL),
  (110, 'PART-HELD', X'D1B1ACA9892C8C9C1E5D5A54EF7FDF94', 2375025107, 1, '2026-11-23 17:09:00.290',
    '2026-11-23 17:09:00.290', NULL, 0, NULL, '2026-11-22 18:55:40.290', NULL, NULL, NULL),
  (111, 'CLAIMED-1', X'CE38C96E7E795B5CD7B32DAAFDC57290', 2375025107, 2, '2026-11-22 18:55:40.302',
    '2026-11-22 19:10:40.300', 5, 1, NULL, '2026-11-22 18:55:40.300', '2026-11-22 18:55:40.302', NULL, NULL),
  (112, 'CLAIMED-2', X'033A8FAC897DEA87B5B8076E5F5FFADD', 2375025107, 2, '2026-11-22 18:55:40.305',
    '2026-11-22 19:10:40.303', 5, 1, NULL, '2026-11-22 18:55:40.303', '2026-11-22 18:55:40.305', NULL, NULL),
  (113, 'CLAIMED-3', X'49D45EE12350799312F2951E1B6760EC', 2375025107, 2, '2026-11-22 18:55:40.308',
    '2026-11-22 19:10:40.307', 5, 1, NULL, '2026-11-22 18:55:40.307', '2026-11-22 18:55:40.308', NULL, NULL),
  (114, 'SILENT', X'AB6C16AD638678CEDFF868C1F77A4AD4', 2375025107, 2, '2026-11-22 18:55:40.352',
    '2026-11-22 19:10:40.351', 6, 1, NULL, '2026-11-22 18:55:40.351', '2026-11-22 18:55:40.352', NULL, NULL),
  (115, 'PAST', X'F709F8783BFBFA4C880E9A1DE2BD7A60', 2375025107, 1, '2026-11-22 18:55:41.378',
    '2026-11-22 18:55:41.378', NULL, 0, NULL, '2026-11-22 18:55:40.378', NULL, NULL, NULL);

CREATE TABLE reservation_line (
  reservation_id bigint(20) unsigned NOT NULL,
  sku_id int(10) unsigned NOT NULL,
  location_id int(10) unsigned NOT NULL,
  slot smallint(5) unsigned NOT NULL,
  qty bigint(20) NOT NULL,
  PRIMARY KEY (reservation_id,sku_id,location_id)
) ENGINE=InnoDB;

INSERT INTO reservation_line (reservation_id, sku_id, location_id, slot, qty) VALUES
  (101, 1, 1, 0, 4),
  (102, 1, 1, 0, 2),
  (102, 2, 1, 0, 1),
  (103, 2, 1, 1, 2),
  (104, 1, 1, 1, 1),
  (105, 2, 1, 1, 3),
  (106, 1, 1, 1, 2),
  (107, 1, 1, 0, 3),
  (107, 2, 1, 0, 1),
  (108, 1, 1, 0, 2),
  (109, 2, 1, 0, 34),
  (110, 2, 1, 1, 34),
  (111, 2, 1, 1, 1),
  (112, 2, 1, 1, 2),
  (113, 2, 1, 0, 3),
  (114, 1, 1, 1, 1),
  (115, 1, 1, 0, 2);

CREATE TABLE task (
  task_id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  kind tinyint(3) unsigned NOT NULL,
  worker varbinary(64) NOT NULL,
  state tinyint(3) unsigned NOT NULL,
  lease_until datetime(3) NOT NULL,
  claimed int(10) unsigned NOT NULL,
  completed int(10) unsigned NOT NULL,
  failed int(10) unsigned NOT NULL,
  created_at datetime(3) NOT NULL,
  ended_at datetime(3) DEFAULT NULL,
  mark bigint(20) unsigned DEFAULT NULL,
  PRIMARY KEY (task_id),
  UNIQUE KEY mark (mark),
  KEY open_lease (state,lease_until)
) ENGINE=InnoDB AUTO_INCREMENT=7;

INSERT INTO task (task_id, kind, worker, state, lease_until, claimed, completed, failed, created_at, ended_at,
  mark) VALUES
  (1, 1, 'w1', 2, '2026-11-22 18:56:08.107', 1, 1, 0, '2026-11-22 18:55:38.078', '2026-11-22 18:55:38.107',
    1592718315597401854),
  (2, 1, 'w1', 2, '2026-11-22 18:56:08.137', 1, 0, 1, '2026-11-22 18:55:38.137', '2026-11-22 18:55:38.146',
    4729093958337058139),
  (3, 1, 'w2', 3, '2026-11-22 18:56:08.153', 1, 0, 0, '2026-11-22 18:55:38.153', '2026-11-22 18:55:38.174',
    2210360275934520628),
  (4, 2, 'vm.10705.0', 2, '2026-11-22 18:56:09.458', 1, 1, 0, '2026-11-22 18:55:39.447', '2026-11-22 18:55:39.458',
    8948565426871137237),
  (5, 1, 'w2', 1, '2026-11-22 19:45:40.325', 3, 0, 0, '2026-11-22 18:55:40.325', NULL, 3377692920068043678),
  (6, 1, 'gone', 1, '2026-11-22 18:55:41.367', 1, 0, 0, '2026-11-22 18:55:40.367', NULL, 4761257006089011888);

CREATE TABLE api_key (
  key_id int(10) unsigned NOT NULL,
  name varbinary(64) NOT NULL,
  created_at datetime(3) NOT NULL,
  PRIMARY KEY (key_id)
) ENGINE=InnoDB;

INSERT INTO api_key (key_id, name, created_at) VALUES
  (2375025107, 'shop', '2026-11-22 18:55:40.190');

CREATE TABLE key_hold (
  reservation_id bigint(20) unsigned NOT NULL,
  key_id int(10) unsigned NOT NULL,
  units bigint(20) NOT NULL,
  PRIMARY KEY (reservation_id),
  KEY owner (key_id,units)
) ENGINE=InnoDB;

INSERT INTO key_hold (reservation_id, key_id, units) VALUES
  (106, 2375025107, 2),
  (107, 2375025107, 4),
  (108, 2375025107, 2),
  (110, 2375025107, 34);

CREATE TABLE counter (
  name varbinary(32) NOT NULL,
  total bigint(20) unsigned NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB;

INSERT INTO counter (name, total) VALUES
  ('expired', 1);
