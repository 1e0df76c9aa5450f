"""Names of published methods that tests are about."""

VADAM, VPROP, BBVI, PBP = "Vadam", "Vprop", "BBVI", "PBP"
SLANG = "BBB (SLANG paper baseline)"
DROPOUT = "MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)"
DROPOUT_2018 = "MC-Dropout grid search per split (1 layer, 4000 epochs)"
DEEP_ENSEMBLE = "Deep Ensembles (M=5, 40 epochs, adv. training)"
DEEP_ENSEMBLE_2024 = "Deep Ensembles (M=5, 40 epochs, no adv. training)"
