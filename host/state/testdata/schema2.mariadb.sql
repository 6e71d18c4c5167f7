CREATE TABLE `schema_version` (
  `version` bigint(20) NOT NULL,
  `applied_at` bigint(20) NOT NULL,
  PRIMARY KEY (`version`)
) ENGINE=InnoDB;
CREATE TABLE `agent_session` (
  `tenant_id` varbinary(128) NOT NULL,
  `user_id` varbinary(128) NOT NULL,
  `session_id` varbinary(128) NOT NULL,
  `state_key` varbinary(512) NOT NULL,
  `version` bigint(20) NOT NULL,
  `deleted` smallint(6) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `value` longblob NOT NULL,
  PRIMARY KEY (`tenant_id`,`user_id`,`session_id`,`state_key`)
) ENGINE=InnoDB;
CREATE TABLE `kv` (
  `tenant_id` varbinary(128) NOT NULL,
  `namespace` varbinary(128) NOT NULL,
  `kv_key` varbinary(512) NOT NULL,
  `stamp` bigint(20) NOT NULL,
  `deleted` smallint(6) NOT NULL,
  `value` longblob NOT NULL,
  PRIMARY KEY (`tenant_id`,`namespace`,`kv_key`)
) ENGINE=InnoDB;
CREATE TABLE `kv_tenant` (
  `tenant_id` varbinary(128) NOT NULL,
  `parent_id` varbinary(128) NOT NULL,
  `depth` bigint(20) NOT NULL,
  `sealed` smallint(6) NOT NULL,
  PRIMARY KEY (`tenant_id`)
) ENGINE=InnoDB;
CREATE TABLE `agent_claim` (
  `tenant_id` varbinary(128) NOT NULL,
  `user_id` varbinary(128) NOT NULL,
  `session_id` varbinary(128) NOT NULL,
  `claim_key` varbinary(128) NOT NULL,
  `digest` varbinary(128) NOT NULL,
  `call_id` varbinary(128) NOT NULL,
  `owner_id` varbinary(128) NOT NULL,
  `done` smallint(6) NOT NULL,
  `lease_until` bigint(20) NOT NULL,
  `updated_at` bigint(20) NOT NULL,
  `outcome` longblob NOT NULL,
  PRIMARY KEY (`tenant_id`,`user_id`,`session_id`,`claim_key`)
) ENGINE=InnoDB;
CREATE TABLE `audit_record` (
  `seq` bigint(20) NOT NULL AUTO_INCREMENT,
  `recorded_at` bigint(20) NOT NULL,
  `tenant_id` varbinary(128) NOT NULL,
  `user_id` varbinary(128) NOT NULL,
  `session_id` varbinary(128) NOT NULL,
  `call_id` varbinary(128) NOT NULL,
  `kind` varbinary(128) NOT NULL,
  `tool` varbinary(512) NOT NULL,
  `release_name` varbinary(512) NOT NULL,
  `claim_key` varbinary(128) NOT NULL,
  `detail` longblob NOT NULL,
  PRIMARY KEY (`seq`),
  KEY `audit_record_tenant` (`tenant_id`,`seq`),
  KEY `audit_record_session` (`tenant_id`,`user_id`,`session_id`,`seq`),
  KEY `audit_record_call` (`tenant_id`,`call_id`,`seq`)
) ENGINE=InnoDB;
CREATE TABLE `agent_lease` (
  `tenant_id` varbinary(128) NOT NULL,
  `user_id` varbinary(128) NOT NULL,
  `session_id` varbinary(128) NOT NULL,
  `fence` bigint(20) NOT NULL,
  `holder_id` varbinary(128) NOT NULL,
  `expires_at` bigint(20) NOT NULL,
  PRIMARY KEY (`tenant_id`,`user_id`,`session_id`)
) ENGINE=InnoDB;
CREATE TABLE `agent_live` (
  `tenant_id` varbinary(128) NOT NULL,
  `live_id` varbinary(128) NOT NULL,
  `started_at` bigint(20) NOT NULL,
  `ended_at` bigint(20) NOT NULL,
  `detail` longblob NOT NULL,
  PRIMARY KEY (`tenant_id`,`live_id`)
) ENGINE=InnoDB;
CREATE TABLE `tenant_slot` (
  `tenant_id` varbinary(128) NOT NULL,
  `slot` smallint(6) NOT NULL,
  PRIMARY KEY (`tenant_id`,`slot`)
) ENGINE=InnoDB;
CREATE TABLE `store_lane` (
  `lane_id` varbinary(128) NOT NULL,
  `mark` bigint(20) NOT NULL,
  `used_at` bigint(20) NOT NULL,
  PRIMARY KEY (`lane_id`)
) ENGINE=InnoDB;
INSERT INTO schema_version VALUES (1, 1796005837618058);
INSERT INTO schema_version VALUES (2, 1796005837618158);
INSERT INTO agent_session VALUES ('shop', 'ann', 's1', 'live.current', 2, 0, 1772352000123456, CAST('{"sku":"1002"}' AS BINARY));
INSERT INTO agent_session VALUES ('shop', 'ann', 's1', 'old', 2, 1, 1772352000123456, CAST('' AS BINARY));
INSERT INTO kv VALUES ('base', 'n', 'a', 5218395835889029009, 0, CAST('1' AS BINARY));
INSERT INTO kv VALUES ('base', 'n', 'b', 4564325906309331813, 0, CAST('' AS BINARY));
INSERT INTO kv VALUES ('shop', 'n', 'a', 5994296444147819148, 1, CAST('' AS BINARY));
INSERT INTO kv VALUES ('shop', 'n', 'c', 8658807645846594922, 0, CAST('价' AS BINARY));
INSERT INTO kv_tenant VALUES ('base', '', 0, 1);
INSERT INTO kv_tenant VALUES ('shop', 'base', 1, 0);
INSERT INTO agent_claim VALUES ('shop', 'ann', 's1', 'key1', 'digest', 'call1', 'store_138c910155954935a2b64f9603c95038', 1, 0, 1772352000123456, CAST('{"price":89}' AS BINARY));
INSERT INTO agent_claim VALUES ('shop', 'ann', 's1', 'key2', 'digest', 'call2', 'store_138c910155954935a2b64f9603c95038', 0, 1772352060123456, 1772352000123456, CAST('' AS BINARY));
INSERT INTO audit_record VALUES (1, 1772352000123456, 'shop', 'ann', 's1', 'call1', 'intent', 'set_price', '', 'key1', CAST('{"args":{}}' AS BINARY));
INSERT INTO audit_record VALUES (2, 1772352000123456, 'shop', 'ann', 's1', 'call1', 'outcome', '', '', 'key1', CAST('' AS BINARY));
INSERT INTO audit_record VALUES (3, 1772352000123456, 'shop', 'ann', 's1', 'call2', 'intent', 'set_price', '', 'key2', CAST('{"args":{}}' AS BINARY));
INSERT INTO agent_lease VALUES ('shop', 'ann', 's1', 3, '', 0);
INSERT INTO agent_live VALUES ('shop', 'live1', 1772352000123456, 0, CAST('{"room":7}' AS BINARY));
INSERT INTO tenant_slot VALUES ('shop', 5);
