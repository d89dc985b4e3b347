-- Codes of skus have up to 128 bytes, those of locations up to 64. Both columns stay below 256 bytes, so the server
-- changes their description alone and writes no row anew.

ALTER TABLE sku MODIFY code VARBINARY(128) NOT NULL;

ALTER TABLE location MODIFY code VARBINARY(64) NOT NULL;
